package lab.virtualthreads;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import org.springframework.core.io.ClassPathResource;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * {@code /run/cpu} and {@code /run/io} in both thread modes.
 */
@ParameterizedClass
@EnumSource
class RunWorkloadTests {

	private static final String[] BOUNDED = { "name=\"bounded\"" };

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
	@CsvSource({ "1, 0", "2, 1", "3, 2", "10, 4", "100, 25", "1000, 168", "10000, 1229", "100000, 9592" })
	void countsPrimes(int limit, long primes) {
		JsonNode answer = json(app.get("/run/cpu?tasks=3&executor=virtual&limit=" + limit));
		assertThat(answer.get("total").longValue()).isEqualTo(3 * primes);
	}

	@ParameterizedTest
	@CsvSource({ "bounded, false, 50", "virtual, true, 1000" })
	void runsAThousandTasksOnTheExecutorWhateverTheVariant(String executor, boolean virtual, int threads) {
		HttpResponse<String> response;
		// A new pool: its first tasks start a thread each, and those in the queue no more.
		try (LabApp app = LabApp.start(this.variant)) {
			response = app.get("/run/cpu?limit=1000&executor=" + executor);
		}
		assertThat(response.statusCode()).isEqualTo(200);
		JsonNode answer = json(response);
		assertThat(answer.propertyNames()).containsExactly("tasks", "executor", "isVirtual", "threads", "seconds",
				"total");
		assertThat(answer.get("tasks").intValue()).isEqualTo(1000);
		assertThat(answer.get("executor").stringValue()).isEqualTo(executor);
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(virtual);
		assertThat(answer.get("threads").intValue()).isEqualTo(threads);
		assertThat(answer.get("seconds").doubleValue()).isPositive();
		assertThat(answer.get("total").longValue()).isEqualTo(168_000);
	}

	@ParameterizedTest
	@CsvSource({ "bounded, false", "virtual, true" })
	void readsTheWholeFileInEveryTask(String executor, boolean virtual) throws IOException {
		JsonNode answer = json(app.get("/run/io?executor=" + executor));
		assertThat(answer.get("tasks").intValue()).isEqualTo(1000);
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(virtual);
		long size = new ClassPathResource("lab/virtualthreads/async/text.txt").contentLength();
		assertThat(size).isPositive();
		assertThat(answer.get("total").longValue()).isEqualTo(1000 * size);
	}

	/** More than run and wait at once. What they leave in the queue is soon gone. */
	@Test
	void answersAProblemWhenTheQueueIsFull() {
		try (LabApp app = LabApp.start(this.variant); LabApp.Gate gate = new LabApp.Gate()) {
			ThreadPoolTaskExecutor pool = app.bean("bounded", ThreadPoolTaskExecutor.class);
			// 50 threads, a full queue, and 50 more threads. None of them takes what the request queues.
			gate.occupy(pool, 50 + 1000 + 50);
			pool.getThreadPoolExecutor().getQueue().clear();
			double before = app.metric("executor_rejected_tasks_total", BOUNDED);
			HttpResponse<String> response = app.get("/run/cpu?tasks=10000&limit=100000&executor=bounded");
			assertThat(response.statusCode()).isEqualTo(503);
			assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
			JsonNode problem = json(response);
			assertThat(problem.get("detail").stringValue()).contains("'bounded'", "task 1001 of 10000", "lab.run.max=100",
					"lab.run.queue=1000");
			assertThat(problem.get("executor").stringValue()).isEqualTo("bounded");
			assertThat(problem.get("lab.run.queue").intValue()).isEqualTo(1000);
			assertThat(app.metric("executor_rejected_tasks_total", BOUNDED)).isEqualTo(before + 1);
			gate.open();
			awaitNoTasks(app);
			// The queue was full: the pool grew beyond its core.
			assertThat(app.metric("executor_pool_size_threads", BOUNDED)).isEqualTo(100);
			assertThat(json(app.get("/run/cpu?limit=10&executor=bounded")).get("total").longValue()).isEqualTo(4000);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "bounded", "virtual" })
	void answersAProblemWhenInterrupted(String executor) throws Exception {
		String query = "tasks=1000&limit=300000&executor=" + executor;
		CompletableFuture<HttpResponse<String>> response = app.getAsync("/run/cpu?" + query);
		LabApp.RequestThreads threads = app.bean(LabApp.RequestThreads.class);
		await().until(() -> threads.byQuery.containsKey(query));
		threads.byQuery.get(query).interrupt();
		assertThat(response.get().statusCode()).isEqualTo(503);
		awaitNoTasks(app);
	}

	@Test
	void hasTheMetersOfTheBoundedPool() {
		assertThat(app.metric("executor_pool_core_threads", BOUNDED)).isEqualTo(50);
		assertThat(app.metric("executor_pool_max_threads", BOUNDED)).isEqualTo(100);
		for (String name : new String[] { "executor_active_threads", "executor_queued_tasks", "executor_queue_remaining_tasks",
				"executor_pool_size_threads", "executor_rejected_tasks_total" }) {
			assertThat(app.metric(name, BOUNDED)).as(name).isGreaterThanOrEqualTo(0);
		}
		// Spring Boot's own executor is still there. It is a pool on platform threads only.
		assertThat(app.metric("executor_pool_core_threads", "name=\"applicationTaskExecutor\""))
			.isEqualTo(Double.valueOf(this.variant.isVirtual() ? Double.NaN : 8));
	}

	@ParameterizedTest
	@CsvSource(nullValues = "null", textBlock = """
			/run/cpu                                  | executor | null
			/run/cpu?executor=pool8                   | executor | pool8
			/run/cpu?executor=virtual&limit=0         | limit    | 0
			/run/cpu?executor=virtual&limit=1000001   | limit    | 1000001
			/run/cpu?executor=virtual&tasks=0         | tasks    | 0
			/run/cpu?executor=virtual&tasks=10001     | tasks    | 10001
			/run/io                                   | executor | null
			/run/io?executor=virtual&limit=5          | limit    | 5
			/run/io?executor=virtual&tasks=10001      | tasks    | 10001
			""", delimiter = '|')
	void refusesWhatItCannotDo(String path, String parameter, String value) {
		HttpResponse<String> response = app.get(path);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(json(response).get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(json(response).get("value").stringValue(null)).isEqualTo(value);
	}

	private static void awaitNoTasks(LabApp app) {
		await().untilAsserted(() -> {
			assertThat(app.metric("executor_active_threads", BOUNDED)).isZero();
			assertThat(app.metric("executor_queued_tasks", BOUNDED)).isZero();
		});
	}

}
