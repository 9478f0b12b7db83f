package vtlab.agent;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

class SamplerTests {

	/** In microseconds and milliseconds. */
	@ParameterizedTest
	@CsvSource({ "0, 1, 10", "50, 1, 10", "240, 1, 24", "240, 4, 24", "240, 0.5, 48", "5000, 1, 100" })
	void takesAHundredthOfTheCpuAtMost(double cost, double cores, long interval) {
		assertThat(Sampler.interval(cost * 1e3, cores)).isEqualTo(interval * 1_000_000);
	}

}
