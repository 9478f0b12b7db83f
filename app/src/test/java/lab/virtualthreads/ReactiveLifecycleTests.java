package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Start and stop as the variant {@code reactive}. One at a time: whichever stops takes the event loops of all with it.
 */
@ExtendWith(OutputCaptureExtension.class)
class ReactiveLifecycleTests {

	@Test
	void saysInOneLineWhatItRunsOn(CapturedOutput output) {
		try (LabApp app = LabApp.start(Variant.PLATFORM, ReactiveTests.REACTIVE)) {
			assertThat(output.getOut().lines().filter((line) -> line.contains(" INFO "))).singleElement()
				.asString()
				.contains("variant=reactive jdk=");
		}
	}

	@Test
	void letsARunningRequestFinish() {
		try (LabApp app = LabApp.start(Variant.PLATFORM, ReactiveTests.REACTIVE); LabApp.Gate gate = app.shutGate()) {
			// Longer than Netty itself waits for what is running, unasked.
			CompletableFuture<HttpResponse<String>> response = app.getAsync("/thread?duration=6s");
			await().until(() -> app.inFlight() == 1);
			CompletableFuture<Void> closed = app.beginToClose();
			assertThat(closed).isNotDone();
			assertThat(response).isNotDone();
			gate.open();
			assertThat(response.join().statusCode()).isEqualTo(200);
			closed.join();
		}
	}

	@Test
	void runsWithoutAnyMetrics() {
		try (LabApp app = LabApp.start(Variant.PLATFORM, ReactiveTests.REACTIVE,
				"--spring.profiles.active=no-metrics")) {
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/health").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/prometheus").statusCode()).isEqualTo(404);
		}
	}

}
