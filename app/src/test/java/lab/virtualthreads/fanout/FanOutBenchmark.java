package lab.virtualthreads.fanout;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

import lab.virtualthreads.web.Wait;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The fan-out without any HTTP: the time that all tasks take together.
 *
 * <pre>java -cp app.jar org.openjdk.jmh.Main -rf json -rff fan-out.json</pre>
 *
 * The hash chains are shorter than the published 500,000, for which {@code -p iterations=500000} asks, so that an
 * iteration has several operations. Tasks that wait have no pool of as many threads as processors: under one CPU its
 * 25 s for an operation say nothing that the law does not ({@code -p executor=processors} has it all the same).
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class FanOutBenchmark {

	@Benchmark
	public Object waits(Waits waits) throws InterruptedException {
		Wait wait = Wait.of(Duration.ofMillis(waits.milliseconds));
		return FanOut.run(waits.running, waits.tasks, new FanOut.Task(wait, 0));
	}

	@Benchmark
	public Object hashes(Hashes hashes) throws InterruptedException {
		return FanOut.run(hashes.running, hashes.tasks, new FanOut.Task(Wait.of(Duration.ZERO), hashes.iterations));
	}

	private static ExecutorService create(String executor) {
		return FanOutExecutor.valueOf(executor.toUpperCase(Locale.ROOT)).create();
	}

	/** Tasks that wait. */
	@State(Scope.Benchmark)
	public static class Waits {

		@Param({ "pool8", "pool200", "virtual" })
		String executor;

		@Param("500")
		int tasks;

		@Param("50")
		long milliseconds;

		private ExecutorService running;

		@Setup
		public void start() {
			this.running = create(this.executor);
		}

		@TearDown
		public void stop() {
			this.running.close();
		}

	}

	/** Tasks that compute. */
	@State(Scope.Benchmark)
	public static class Hashes {

		@Param({ "processors", "pool8", "virtual" })
		String executor;

		@Param("500")
		int tasks;

		@Param("2000")
		long iterations;

		private ExecutorService running;

		@Setup
		public void start() {
			this.running = create(this.executor);
		}

		@TearDown
		public void stop() {
			this.running.close();
		}

	}

}
