package lab.virtualthreads.async;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadPoolExecutor;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.task.TaskRejectedException;
import org.springframework.http.MediaType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@ServletSlice
class RunControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@Autowired
	@Qualifier("bounded")
	private ThreadPoolTaskExecutor bounded;

	@Autowired
	private RejectedTasks rejectedTasks;

	@ParameterizedTest
	@CsvSource({ "1, 0", "2, 1", "3, 2", "10, 4", "100, 25", "1000, 168", "10000, 1229", "100000, 9592" })
	void countsPrimes(int limit, long primes) throws Exception {
		JsonNode answer = json(get("/run/cpu?tasks=3&executor=virtual&limit=" + limit));
		assertThat(answer.get("total").longValue()).isEqualTo(3 * primes);
	}

	@ParameterizedTest
	@CsvSource({ "bounded, false", "virtual, true" })
	void runsAThousandTasksOnTheExecutorThatIsAskedFor(String executor, boolean virtual) throws Exception {
		JsonNode answer = json(get("/run/cpu?limit=1000&executor=" + executor));
		assertThat(answer.propertyNames()).containsExactly("tasks", "executor", "isVirtual", "threads", "seconds",
				"total");
		assertThat(answer.get("tasks").intValue()).isEqualTo(1000);
		assertThat(answer.get("executor").stringValue()).isEqualTo(executor);
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(virtual);
		assertThat(answer.get("threads").intValue()).isBetween(1, virtual ? 1000 : 100);
		assertThat(answer.get("seconds").doubleValue()).isPositive();
		assertThat(answer.get("total").longValue()).isEqualTo(168_000);
	}

	@ParameterizedTest
	@ValueSource(strings = { "bounded", "virtual" })
	void readsTheWholeFileInEveryTask(String executor) throws Exception {
		JsonNode answer = json(get("/run/io?tasks=7&executor=" + executor));
		long size = new ClassPathResource("text.txt", RunTasks.class).contentLength();
		assertThat(size).isPositive();
		assertThat(answer.get("total").longValue()).isEqualTo(7 * size);
	}

	@Test
	void hasAPoolAndAQueueOfTheConfiguredSizes() {
		ThreadPoolExecutor pool = this.bounded.getThreadPoolExecutor();
		assertThat(pool.getCorePoolSize()).isEqualTo(50);
		assertThat(pool.getMaximumPoolSize()).isEqualTo(100);
		assertThat(pool.getQueue().size() + pool.getQueue().remainingCapacity()).isEqualTo(1000);
	}

	@Test
	void answersAProblemWhenTheQueueIsFullAndCountsIt() throws Exception {
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		this.rejectedTasks.bindTo(registry);
		CountDownLatch released = new CountDownLatch(1);
		try {
			fill(released);
			double before = rejected(registry);
			MvcTestResult result = get("/run/cpu?tasks=10000&limit=10&executor=bounded");
			assertThat(result).hasStatus(503).hasContentType(MediaType.APPLICATION_PROBLEM_JSON);
			JsonNode problem = json(result);
			assertThat(problem.get("detail").stringValue()).contains("'bounded'", "task 1001 of 10000",
					"lab.run.max=100", "lab.run.queue=1000");
			assertThat(problem.get("executor").stringValue()).isEqualTo("bounded");
			assertThat(problem.get("lab.run.max").intValue()).isEqualTo(100);
			assertThat(problem.get("lab.run.queue").intValue()).isEqualTo(1000);
			assertThat(rejected(registry)).isEqualTo(before + 1);
		}
		finally {
			released.countDown();
		}
		awaitNoTasks();
		assertThat(json(get("/run/cpu?limit=10&executor=bounded")).get("total").longValue()).isEqualTo(4000);
	}

	@Test
	void answersAProblemWhenInterruptedAndLeavesNoTasksBehind() throws Exception {
		CountDownLatch released = new CountDownLatch(1);
		try {
			fill(released);
			FutureTask<MvcTestResult> request = new FutureTask<>(() -> get("/run/cpu?tasks=900&executor=bounded"));
			Thread user = Thread.ofPlatform().start(request);
			await().until(() -> this.bounded.getQueueSize() == 900 && user.getState() == Thread.State.WAITING);
			user.interrupt();
			assertThat(request.get()).hasStatus(503).hasContentType(MediaType.APPLICATION_PROBLEM_JSON);
		}
		finally {
			released.countDown();
		}
		awaitNoTasks();
	}

	/** Keeps all threads busy and the queue empty, so that what a request has queued stays there. */
	private void fill(CountDownLatch released) {
		while (this.bounded.getActiveCount() < 100) {
			try {
				this.bounded.execute(new FutureTask<>(() -> {
					released.await();
					return null;
				}));
			}
			catch (TaskRejectedException ex) {
				// The threads are still about to take theirs.
				Thread.yield();
			}
		}
		this.bounded.getThreadPoolExecutor().getQueue().clear();
	}

	private void awaitNoTasks() {
		await().untilAsserted(() -> {
			assertThat(this.bounded.getActiveCount()).isZero();
			assertThat(this.bounded.getQueueSize()).isZero();
		});
	}

	private static double rejected(SimpleMeterRegistry registry) {
		return registry.get("executor.rejected").tag("name", "bounded").functionCounter().count();
	}

	private MvcTestResult get(String path) {
		return this.mvc.get().uri(path).exchange();
	}

	private static JsonNode json(MvcTestResult result) {
		return JsonMapper.shared().readTree(result.getResponse().getContentAsByteArray());
	}

}
