package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Start and stop, in both thread modes.
 */
@ExtendWith(OutputCaptureExtension.class)
class LifecycleTests {

	@ParameterizedTest
	@EnumSource
	void saysInOneLineWhatItRunsOn(Variant variant, CapturedOutput output) {
		try (LabApp app = LabApp.start(variant)) {
			assertThat(output.getOut().lines().filter((line) -> line.contains(" INFO "))).singleElement()
				.asString()
				.containsPattern("variant=" + variant + " jdk=\\d\\S* vendor=\".+\" processors=\\d+ gc=[A-Z]\\w+ "
						+ "max-heap=\\d+MiB cpu-limit=(none|[0-9.]+)$");
		}
	}

	@ParameterizedTest
	@EnumSource
	void letsARunningRequestFinish(Variant variant) {
		try (LabApp app = LabApp.start(variant); LabApp.Gate gate = app.shutGate()) {
			CompletableFuture<HttpResponse<String>> response = app.getAsync("/thread?duration=2s");
			await().until(() -> app.inFlight() == 1);
			CompletableFuture<Void> closed = app.beginToClose();
			assertThat(closed).isNotDone();
			assertThat(response).isNotDone();
			gate.open();
			assertThat(response.join().statusCode()).isEqualTo(200);
			closed.join();
		}
	}

	@ParameterizedTest
	@EnumSource
	void runsWithoutAnyMetrics(Variant variant) {
		try (LabApp app = LabApp.start(variant, "--spring.profiles.active=no-metrics")) {
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/health").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/prometheus").statusCode()).isEqualTo(404);
			assertThatExceptionOfType(NoSuchBeanDefinitionException.class)
				.isThrownBy(() -> app.bean(MeterRegistry.class));
		}
	}

	@ParameterizedTest
	@EnumSource
	void takesTheBoundsThatItIsGiven(Variant variant) {
		try (LabApp app = LabApp.start(variant, "--lab.thread.max-duration=20ms", "--lab.cpu.max-iterations=5",
				"--lab.mixed.max-duration=10ms", "--lab.mixed.max-iterations=1000002")) {
			assertThat(app.get("/thread?duration=20ms").statusCode()).isEqualTo(200);
			assertThat(app.get("/thread?duration=21ms").body()).contains("from 0s to 20ms");
			assertThat(app.get("/cpu?iterations=5").statusCode()).isEqualTo(200);
			assertThat(app.get("/cpu?iterations=6").body()).contains("from 1 to 5");
			// More iterations than the default allows, and fewer than it.
			assertThat(app.get("/mixed?duration=10ms&iterations=1000002").statusCode()).isEqualTo(200);
			assertThat(app.get("/mixed?duration=10ms&iterations=1000003").statusCode()).isEqualTo(400);
			assertThat(app.get("/mixed?duration=11ms&iterations=1").statusCode()).isEqualTo(400);
		}
	}

	@ParameterizedTest
	@CsvSource({ "lab.thread.max-duration, 0s", "lab.thread.max-duration, -1s", "lab.cpu.max-iterations, 0",
			"lab.mixed.max-duration, 0s", "lab.mixed.max-iterations, -1", "lab.thread.max-wait, 1s" })
	void refusesToStartWithABadBound(String property, String value) {
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--" + property + "=" + value)).rootCause()
			.hasMessageContaining(property);
	}

}
