package lab.virtualthreads.sleep;

import java.time.Duration;
import java.util.concurrent.FutureTask;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@ServletSlice
class SleepControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@CsvSource({ "120ms, 120", "PT0.1S, 100", "80, 80", "0s, 0" })
	void waitsAtLeastTheDuration(String duration, long milliseconds) {
		long start = System.nanoTime();
		assertThat(this.mvc.get().uri("/thread?duration=" + duration)).hasStatusOk()
			.hasContentType(MediaType.APPLICATION_JSON);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(milliseconds));
	}

	@Test
	void answersAProblemWhenInterrupted() throws Exception {
		FutureTask<MvcTestResult> request = new FutureTask<>(
				() -> this.mvc.get().uri("/thread?duration=59s").exchange());
		Thread user = Thread.ofPlatform().start(request);
		await().until(() -> user.getState() == Thread.State.TIMED_WAITING);
		user.interrupt();
		assertThat(request.get()).hasStatus(503).hasContentType(MediaType.APPLICATION_PROBLEM_JSON);
	}

}
