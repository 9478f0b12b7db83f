package lab.virtualthreads.pinned;

import java.time.Duration;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class PinnedControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@ValueSource(strings = { "monitor", "reentrant" })
	void waitsWithALock(String lock) {
		long start = System.nanoTime();
		assertThat(this.mvc.get().uri("/pinned?duration=100ms&lock=" + lock)).bodyJson()
			.isStrictlyEqualTo("{\"isVirtual\": false, \"lock\": \"%s\"}".formatted(lock));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
	}

}
