package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Requests that have their work done by executors, while the application stops.
 */
class ShutdownTests {

	@ParameterizedTest
	@CsvSource({ "PLATFORM, /fan-out?tasks=24&duration=500ms&executor=pool8",
			"VIRTUAL, /fan-out?tasks=24&duration=500ms&executor=pool8",
			"PLATFORM, /run/cpu?limit=200000&executor=bounded", "VIRTUAL, /run/cpu?limit=200000&executor=bounded" })
	void letsARunningRequestFinish(Variant variant, String path) {
		CompletableFuture<HttpResponse<String>> response;
		try (LabApp app = LabApp.start(variant)) {
			response = app.getAsync(path);
			await().until(() -> app.metric("executor_queued_tasks", "name=\"fan-out-pool8\"") > 0
					|| app.metric("executor_queued_tasks", "name=\"bounded\"") > 0);
		}
		assertThat(response.join().statusCode()).isEqualTo(200);
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
		await().until(() -> !threads.byQuery.containsKey(query));
		await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
			.noneMatch((name) -> name.startsWith("fan-out-pool8-")));
	}

}
