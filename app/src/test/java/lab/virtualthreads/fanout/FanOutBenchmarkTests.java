package lab.virtualthreads.fanout;

import java.util.Collection;

import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * JMH finds the benchmarks and each of their settings, and a pool of 8 makes tasks wait for each other. In this JVM and
 * with few tasks: nothing is measured here.
 */
class FanOutBenchmarkTests {

	@Test
	void runsEachWithItsExecutors() throws Exception {
		Collection<RunResult> results = new Runner(new OptionsBuilder().forks(0)
			.warmupIterations(0)
			// A machine that stalls makes some of them slow, not all.
			.measurementIterations(10)
			.measurementTime(TimeValue.milliseconds(1))
			.param("tasks", "24")
			.param("milliseconds", "20")
			.param("iterations", "5")
			.verbosity(VerboseMode.SILENT)
			.build()).run();
		assertThat(results).extracting(FanOutBenchmarkTests::name)
			.containsExactlyInAnyOrder("waits pool8", "waits pool200", "waits virtual", "hashes pool8",
				 "hashes processors", "hashes virtual");
		assertThat(results).allSatisfy((result) -> {
			assertThat(result.getPrimaryResult().getScoreUnit()).isEqualTo("ms/op");
			assertThat(result.getPrimaryResult().getScore()).isGreaterThan(0);
		});
		// Three waits one after the other, or one.
		assertThat(leastMilliseconds(results, "waits pool8")).isGreaterThanOrEqualTo(60);
		assertThat(leastMilliseconds(results, "waits virtual")).isGreaterThanOrEqualTo(20).isLessThan(60);
	}

	private static double leastMilliseconds(Collection<RunResult> results, String name) {
		return results.stream()
			.filter((result) -> name(result).equals(name))
			.findFirst()
			.orElseThrow()
			.getPrimaryResult()
			.getStatistics()
			.getMin();
	}

	private static String name(RunResult result) {
		String benchmark = result.getParams().getBenchmark();
		return benchmark.substring(benchmark.lastIndexOf('.') + 1) + " " + result.getParams().getParam("executor");
	}

}
