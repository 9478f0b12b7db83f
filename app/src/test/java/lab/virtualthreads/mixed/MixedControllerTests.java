package lab.virtualthreads.mixed;

import java.time.Duration;

import lab.virtualthreads.ServletSlice;
import lab.virtualthreads.cpu.HashChain;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class MixedControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@Test
	void waitsAndHashes() {
		long start = System.nanoTime();
		assertThat(this.mvc.get().uri("/mixed?iterations=2&duration=100ms")).bodyJson()
			.isStrictlyEqualTo("{\"iterations\": 2, \"digest\": \"%s\"}".formatted(HashChain.compute(2).digest()));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
	}

}
