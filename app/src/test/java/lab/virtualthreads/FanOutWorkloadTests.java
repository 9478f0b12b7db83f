package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import lab.virtualthreads.cpu.HashChain;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * {@code /fan-out} in both thread modes.
 */
@ParameterizedClass
@EnumSource
class FanOutWorkloadTests {

	private static LabApp app;

	@Parameter
	private Variant variant;

	@BeforeParameterizedClassInvocation
	static void start(Variant variant) {
		app = LabApp.start(variant);
	}

	@AfterParameterizedClassInvocation
	static void stop() {
		app.close();
	}

	@ParameterizedTest
	@CsvSource({ "pool8, false, 8", "pool200, false, 200", "virtual, true, 400" })
	void runsOnTheExecutorThatIsAskedForWhateverTheVariant(String executor, boolean virtual, int threads) {
		HttpResponse<String> response;
		// New pools: their first tasks start a thread each.
		try (LabApp app = LabApp.start(this.variant)) {
			response = app.get("/fan-out?tasks=400&duration=10ms&executor=" + executor);
		}
		assertThat(response.statusCode()).isEqualTo(200);
		JsonNode answer = json(response);
		assertThat(answer.propertyNames()).containsExactly("tasks", "executor", "isVirtual", "threads", "seconds",
				"digest");
		assertThat(answer.get("tasks").intValue()).isEqualTo(400);
		assertThat(answer.get("executor").stringValue()).isEqualTo(executor);
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(virtual);
		assertThat(answer.get("threads").intValue()).isEqualTo(threads);
		assertThat(answer.get("seconds").doubleValue()).isGreaterThanOrEqualTo(0.01 * 400 / threads);
		assertThat(answer.get("digest").stringValue()).isEmpty();
	}

	@Test
	void waitsAndComputes() {
		JsonNode answer = json(app.get("/fan-out?tasks=3&duration=20ms&iterations=500&executor=processors"));
		assertThat(answer.get("seconds").doubleValue()).isGreaterThanOrEqualTo(0.02);
		assertThat(answer.get("digest").stringValue()).isEqualTo(HashChain.compute(500).digest());
	}

	@ParameterizedTest
	@CsvSource(nullValues = "null", textBlock = """
			tasks=5                                        | executor   | null
			tasks=5&executor=POOL8                         | executor   | POOL8
			tasks=5&executor=pool9                         | executor   | pool9
			executor=pool8                                 | tasks      | null
			tasks=0&executor=pool8                         | tasks      | 0
			tasks=1001&executor=pool8                      | tasks      | 1001
			tasks=5&executor=pool8&duration=1001ms         | duration   | 1001ms
			tasks=5&executor=pool8&duration=-1ms           | duration   | -1ms
			tasks=5&executor=pool8&iterations=500001       | iterations | 500001
			tasks=5&executor=pool8&iterations=             | iterations | ''
			tasks=5&executor=pool8&iteration=5             | iteration  | 5
			""", delimiter = '|')
	void refusesWhatItCannotDo(String query, String parameter, String value) {
		HttpResponse<String> response = app.get("/fan-out?" + query);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(json(response).get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(json(response).get("value").stringValue(null)).isEqualTo(value);
	}

	@Test
	void saysWhichExecutorsThereAre() {
		assertThat(json(app.get("/fan-out?tasks=1&executor=x")).get("allowed").stringValue())
			.isEqualTo("one of pool8, pool200, processors, virtual");
	}

	@Test
	void answersAProblemWhenInterruptedAndLeavesNoTasksBehind() throws Exception {
		String query = "tasks=900&duration=1s&executor=pool8";
		CompletableFuture<HttpResponse<String>> response = app.getAsync("/fan-out?" + query);
		// Not both at once: the eighth runs before the ninth waits.
		await().untilAsserted(() -> {
			assertThat(pool8("executor_active_threads")).isEqualTo(8);
			assertThat(pool8("executor_queued_tasks")).isGreaterThan(0);
		});
		app.bean(LabApp.RequestThreads.class).byQuery.get(query).interrupt();
		assertThat(response.get().statusCode()).isEqualTo(503);
		await().untilAsserted(() -> {
			assertThat(pool8("executor_active_threads")).isZero();
			assertThat(pool8("executor_queued_tasks")).isZero();
		});
	}

	@ParameterizedTest
	@CsvSource({ "fan-out-pool8, 8", "fan-out-pool200, 200" })
	void hasTheMetersOfAnExecutor(String name, double size) {
		assertThat(app.metric("executor_pool_max_threads", "name=\"" + name + "\"")).isEqualTo(size);
		assertThat(app.metric("executor_pool_core_threads", "name=\"" + name + "\"")).isEqualTo(size);
	}

	private static double pool8(String metric) {
		return app.metric(metric, "name=\"fan-out-pool8\"");
	}

}
