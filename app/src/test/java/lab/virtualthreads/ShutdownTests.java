package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

import lab.virtualthreads.fanout.Pool8;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Requests that have their work done by executors, while the application stops.
 */
class ShutdownTests {

	@ParameterizedTest
	@CsvSource({ "PLATFORM, fan-out-pool8, 8, 24, /fan-out?tasks=24&duration=500ms&executor=pool8",
			"VIRTUAL, fan-out-pool8, 8, 24, /fan-out?tasks=24&duration=500ms&executor=pool8",
			"PLATFORM, bounded, 50, 1000, /run/cpu?limit=1000&executor=bounded",
			"VIRTUAL, bounded, 50, 1000, /run/cpu?limit=1000&executor=bounded" })
	void letsARunningRequestFinish(Variant variant, String name, int threads, int tasks, String path) {
		try (LabApp app = LabApp.start(variant); LabApp.Gate gate = new LabApp.Gate()) {
			Executor executor = name.equals("bounded") ? app.bean(name, ThreadPoolTaskExecutor.class)
					: app.bean(Pool8.class).executor();
			// All of the request's tasks stay in the queue.
			gate.occupy(executor, threads);
			CompletableFuture<HttpResponse<String>> response = app.getAsync(path);
			await().until(() -> app.metric("executor_queued_tasks", "name=\"" + name + "\"") == tasks);
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
		await().until(() -> !threads.byQuery.containsKey(query));
		await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
			.noneMatch((name) -> name.startsWith("fan-out-pool8-")));
	}

}
