package lab.virtualthreads.web;

import java.time.Duration;
import java.util.stream.IntStream;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.core.convert.ConversionService;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

@ServletSlice
class WaitTests {

	@Autowired
	private MockMvcTester mvc;

	@Autowired
	private ConversionService mvcConversionService;

	@ParameterizedTest
	@CsvSource({ "50ms, PT0.05S, false", "PT5S, PT5S, false", "0s, PT0S, false", "exp(50ms), PT0.05S, true",
			"exp(PT5S), PT5S, true", "exp(80), PT0.08S, true", "exp(0s), PT0S, true" })
	void isReadFromAQuery(String text, Duration mean, boolean isDrawn) {
		Wait wait = this.mvcConversionService.convert(text, Wait.class);
		assertThat(wait).isEqualTo(new Wait(mean, isDrawn));
		assertThat(this.mvcConversionService.convert(String.valueOf(wait), Wait.class)).isEqualTo(wait);
	}

	@Test
	void isTheSameEachTime() {
		Wait wait = Wait.of(Duration.ofMillis(1500));
		assertThat(wait.next(60)).isEqualTo(wait.next(60)).isEqualTo(Duration.ofMillis(1500));
		assertThat(wait.next(1)).isEqualTo(Duration.ofSeconds(1));
	}

	/** Mean and standard deviation of 100,000 are within 2 %: more than six times what chance makes of the mean. */
	@Test
	void isDrawnFromAnExponentialDistribution() {
		Wait wait = new Wait(Duration.ofSeconds(1), true);
		double[] seconds = IntStream.range(0, 100_000).mapToDouble((i) -> wait.next(60).toNanos() / 1e9).toArray();
		double mean = mean(seconds);
		double[] squares = IntStream.range(0, seconds.length)
			.mapToDouble((i) -> (seconds[i] - mean) * (seconds[i] - mean))
			.toArray();
		assertThat(mean).isCloseTo(1, within(0.02));
		assertThat(Math.sqrt(mean(squares))).isCloseTo(1, within(0.04));
		assertThat(mean(IntStream.range(0, seconds.length).mapToDouble((i) -> (seconds[i] > 3) ? 1 : 0).toArray()))
			.isCloseTo(Math.exp(-3), within(0.005));
	}

	@Test
	void isCutAtTheLongest() {
		Wait wait = new Wait(Duration.ofSeconds(60), true);
		assertThat(IntStream.range(0, 1000).mapToObj((i) -> wait.next(60)))
			.allMatch((next) -> next.compareTo(Duration.ofSeconds(60)) <= 0)
			.contains(Duration.ofSeconds(60));
	}

	@ParameterizedTest
	@CsvSource({ "/thread?duration=exp(1ms)", "/mixed?duration=exp(1ms)&iterations=1",
			"/pinned?duration=exp(1ms)&lock=reentrant", "/fan-out?tasks=3&executor=virtual&duration=exp(1ms)" })
	void isDrawnByEachWorkloadThatWaits(String path) {
		assertThat(this.mvc.get().uri(path)).hasStatusOk();
	}

	private static double mean(double[] values) {
		return IntStream.range(0, values.length).mapToDouble((i) -> values[i]).average().orElseThrow();
	}

}
