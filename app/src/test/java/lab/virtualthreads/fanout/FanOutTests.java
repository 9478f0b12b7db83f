package lab.virtualthreads.fanout;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadPoolExecutor;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.fanout.FanOut.Task;
import lab.virtualthreads.web.Wait;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

class FanOutTests {

	private final FanOutExecutors executors = new FanOutExecutors();

	private volatile Exception thrown;

	@AfterEach
	void stop() {
		this.executors.destroy();
	}

	@ParameterizedTest
	@CsvSource({ "POOL8, 8", "POOL200, 200", "VIRTUAL, 400" })
	void runsAllTasksOnTheThreadsOfTheExecutor(FanOutExecutor kind, int threads) throws Exception {
		FanOut fanOut = FanOut.run(this.executors.get(kind), 400, new Task(Wait.of(Duration.ofMillis(10)), 0));
		assertThat(fanOut.tasks()).isEqualTo(400);
		assertThat(fanOut.threads()).hasSize(threads)
			.allMatch((thread) -> thread.isVirtual() == (kind == FanOutExecutor.VIRTUAL));
		// As many waits one after the other as each thread has tasks.
		assertThat(fanOut.seconds()).isGreaterThanOrEqualTo(0.01 * 400 / threads);
	}

	@Test
	void hasAPoolOfTheSizeOfTheProcessors() throws Exception {
		FanOut fanOut = FanOut.run(this.executors.get(FanOutExecutor.PROCESSORS), 100,
				new Task(Wait.of(Duration.ofMillis(1)), 0));
		assertThat(fanOut.threads()).hasSize(Runtime.getRuntime().availableProcessors())
			.noneMatch(Thread::isVirtual);
	}

	@ParameterizedTest
	@EnumSource
	void computesTheChainInEveryTask(FanOutExecutor kind) throws Exception {
		FanOut fanOut = FanOut.run(this.executors.get(kind), 20, new Task(Wait.of(Duration.ZERO), 1000));
		assertThat(fanOut.digest()).isEqualTo(HashChain.compute(1000).digest());
	}

	@ParameterizedTest
	@EnumSource
	void cancelsItsTasksWhenInterrupted(FanOutExecutor kind) throws Exception {
		ExecutorService executor = this.executors.get(kind);
		Thread caller = startLongWaits(executor);
		caller.interrupt();
		caller.join();
		assertThat(this.thrown).isInstanceOf(InterruptedException.class);
		// All threads are free again for others.
		assertThat(FanOut.run(executor, 400, new Task(Wait.of(Duration.ZERO), 1)).tasks()).isEqualTo(400);
		if (executor instanceof ThreadPoolExecutor pool) {
			await().untilAsserted(() -> assertThat(pool.getActiveCount()).isZero());
			assertThat(pool.getQueue()).isEmpty();
		}
	}

	/** Tasks that run and, in the pools, tasks that wait for a thread. */
	@ParameterizedTest
	@EnumSource
	void endsWhenTheApplicationDoes(FanOutExecutor kind) throws Exception {
		ExecutorService executor = this.executors.get(kind);
		Thread caller = startLongWaits(executor);
		this.executors.destroy();
		caller.join();
		assertThat(this.thrown).isInstanceOf(InterruptedException.class);
		assertThat(executor.isTerminated()).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "fan-out-pool8, 8", "fan-out-pool200, 200" })
	void hasTheMetersOfAnExecutor(String name, double size) {
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		this.executors.bindTo(registry);
		for (String meter : new String[] { "executor.pool.max", "executor.pool.core" }) {
			assertThat(registry.get(meter).tag("name", name).gauge().value()).isEqualTo(size);
		}
		assertThat(registry.get("executor.queued").tag("name", name).gauge().value()).isZero();
		assertThat(registry.get("executor.active").tag("name", name).gauge().value()).isZero();
	}

	/** Returns a thread that has handed all its tasks to the executor. */
	private Thread startLongWaits(ExecutorService executor) {
		Thread caller = Thread.ofPlatform().start(() -> {
			try {
				FanOut.run(executor, 400, new Task(Wait.of(Duration.ofMinutes(5)), 0));
			}
			catch (Exception ex) {
				this.thrown = ex;
			}
		});
		await().until(() -> caller.getState() == Thread.State.WAITING);
		return caller;
	}

}
