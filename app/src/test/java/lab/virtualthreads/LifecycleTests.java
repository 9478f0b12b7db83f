package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Every variant says in one line what it runs on, lets requests finish when it stops, though not for ever, and runs
 * without any meters, too. One at a time: whichever reactive one stops takes the event loops of all with it.
 */
@Tag("context")
@ExtendWith(OutputCaptureExtension.class)
class LifecycleTests {

	@ParameterizedTest
	@EnumSource
	void letsRunningRequestsFinish(Variant variant, CapturedOutput output) {
		try (LabApp app = LabApp.start(variant)) {
			assertStartupLine(output, variant.toString());
			LabApp.Gate gate = app.shutGate();
			// Their tasks need the executors when the application is already about to stop.
			List<CompletableFuture<HttpResponse<String>>> responses = List.of(app.getAsync("/thread?duration=1ms"),
					app.getAsync("/fan-out?tasks=24&duration=1ms&executor=pool8"),
					app.getAsync("/run/cpu?limit=1000&executor=bounded"),
					app.getAsync("/run/io?executor=virtual"));
			await().until(() -> app.inFlight() == responses.size());
			CompletableFuture<Void> closed = app.beginToClose();
			assertThat(closed).isNotDone();
			assertThat(responses).noneMatch(CompletableFuture::isDone);
			gate.open();
			assertThat(responses).allSatisfy((response) -> assertThat(response.join().statusCode()).isEqualTo(200));
			closed.join();
		}
	}

	@Test
	void leavesNoSampler() {
		try (LabApp app = LabApp.start(Variant.VIRTUAL)) {
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
			assertThat(hasSampler()).isTrue();
		}
		await().until(() -> !hasSampler());
	}

	private static boolean hasSampler() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.anyMatch((thread) -> thread.getName().equals("vtlab-agent-sampler"));
	}

	@Test
	void letsARunningReactiveRequestFinish(CapturedOutput output) {
		try (LabApp app = LabApp.start(Variant.PLATFORM, ReactiveTests.REACTIVE)) {
			assertStartupLine(output, "reactive");
			LabApp.Gate gate = app.shutGate();
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

	/** The tasks would take two minutes. */
	@ParameterizedTest
	@EnumSource
	void doesNotWaitForARequestLongerThanAllowed(Variant variant) {
		String query = "tasks=1000&duration=1s&executor=pool8";
		LabApp.RequestThreads threads;
		try (LabApp app = LabApp.start(variant, "--spring.lifecycle.timeout-per-shutdown-phase=100ms")) {
			threads = app.bean(LabApp.RequestThreads.class);
			app.getAsync("/fan-out?" + query);
			await().until(() -> app.metric("executor_queued_tasks", "name=\"fan-out-pool8\"") > 0);
		}
		// The application waits for the threads of its pools, and only the client's request may be about to end.
		assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
			.noneMatch((name) -> name.startsWith("fan-out-pool8-"));
		await().until(() -> !threads.byQuery.containsKey(query));
	}

	@ParameterizedTest
	@ValueSource(strings = { "--spring.threads.virtual.enabled=false", "--spring.threads.virtual.enabled=true",
			ReactiveTests.REACTIVE })
	void runsWithoutAnyMeters(String variant) {
		try (LabApp app = LabApp.start(variant, "--spring.profiles.active=no-metrics")) {
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/health").statusCode()).isEqualTo(200);
			assertThat(app.management("/actuator/prometheus").statusCode()).isEqualTo(404);
			assertThatExceptionOfType(NoSuchBeanDefinitionException.class)
				.isThrownBy(() -> app.bean(MeterRegistry.class));
		}
	}

	private static void assertStartupLine(CapturedOutput output, String variant) {
		assertThat(output.getOut().lines().filter((line) -> line.contains(" INFO "))).singleElement()
			.asString()
			.containsPattern("variant=" + variant + " jdk=\\d\\S* vendor=\".+\" processors=\\d+ gc=[A-Z]\\w+ "
					+ "max-heap=\\d+MiB cpu-limit=(none|[0-9.]+)$");
	}

}
