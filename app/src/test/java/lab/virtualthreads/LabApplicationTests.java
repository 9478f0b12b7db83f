package lab.virtualthreads;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import com.sun.net.httpserver.HttpServer;
import io.micrometer.java21.instrument.binder.jdk.VirtualThreadMetrics;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import vtlab.testing.ScrapedMetrics;
import vtlab.testing.Pinning;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A servlet variant serves the workloads on its kind of thread, the management port on platform threads, and has every
 * meter that vtlab reads, under the names that vtlab reads.
 */
@Tag("context")
@ParameterizedClass
@EnumSource
class LabApplicationTests {

	/**
	 * The metrics that this application does not have: pools of connections have meters only where there is something
	 * to connect to, and the time that threads of Tomcat are busy is the agent's. The expressions read Micrometer's
	 * meters where there is none.
	 */
	private static final Pattern ABSENT = Pattern
		.compile("(hikaricp|httpcomponents|jetty)_.*|.*_threads_busy_seconds_total");

	private static HttpServer downstream;

	private static LabApp app;

	@Parameter
	private Variant variant;

	@BeforeParameterizedClassInvocation
	static void start(Variant variant) throws IOException {
		downstream = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		downstream.createContext("/thread", (exchange) -> {
			byte[] answer = "{\"answered\": true}".getBytes(StandardCharsets.UTF_8);
			exchange.getResponseHeaders().set("Content-Type", "application/json");
			exchange.sendResponseHeaders(200, answer.length);
			exchange.getResponseBody().write(answer);
			exchange.close();
		});
		downstream.start();
		app = LabApp.start(variant, "--lab.downstream.url=http://localhost:" + downstream.getAddress().getPort());
	}

	@AfterParameterizedClassInvocation
	static void stop() {
		app.close();
		downstream.stop(0);
	}

	@Test
	void runsOnTheThreadOfTheVariant() {
		HttpResponse<String> response = app.get("/thread?duration=1ms");
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/json");
		assertThat(json(response).propertyNames()).containsExactly("isVirtual", "threadName");
		assertThat(json(response).get("isVirtual").booleanValue()).isEqualTo(this.variant.isVirtual());
		assertThat(json(response).get("threadName").stringValue()).matches(this.variant.isVirtual()
				? "VirtualThread\\[#\\d+,tomcat-handler-\\d+]/runnable@ForkJoinPool-1-worker-\\d+"
				: "http-nio-.+-exec-\\d+");
	}

	@Test
	void callsADownstreamOnTheThreadOfTheVariant() {
		JsonNode answer = json(app.get("/downstream?duration=1ms"));
		assertThat(answer.propertyNames()).containsExactly("isVirtual", "downstream");
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(this.variant.isVirtual());
		assertThat(answer.get("downstream").get("answered").booleanValue()).isTrue();
	}

	/** As Tomcat decodes it; the check of queries is in QueryCheckTests. */
	@Test
	void namesTheParameterOverHttp() {
		JsonNode problem = assertProblem(app.get("/thread?duration"), 400);
		assertThat(problem.get("parameter").stringValue()).isEqualTo("duration");
		assertProblem(app.get("/thread?duration=1ms&users=5&users=6"), 400);
		assertProblem(app.get("/thread?duration=%FF"), 400);
	}

	@ParameterizedTest
	@ValueSource(strings = { "/thread?duration=%zz", "/thread?duration=5s%", "/thread?duration=5s|" })
	void refusesQueriesThatCannotBeDecoded(String path) {
		assertThat(app.getMalformed(path)).startsWith("HTTP/1.1 400 ");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/", "/error", "/actuator", "/actuator/health", "/actuator/prometheus" })
	void answersUnknownPathsOfTheContainerToo(String path) {
		assertProblem(app.get(path), 404);
	}

	@ParameterizedTest
	@ValueSource(strings = { "TRACE", "BREW" })
	void answersMethodsThatTheContainerRefuses(String method) {
		assertProblem(app.send(app.request("/thread?duration=1ms").method(method, BodyPublishers.noBody())), 405);
	}

	@Nested
	class Metrics {

		@Test
		void countRequestsInAHistogramUpToAMinute() {
			app.get("/thread?duration=1ms");
			await().untilAsserted(() -> assertThat(
					app.metric("http_server_requests_seconds_count", "uri=\"/thread\"", "status=\"200\""))
				.isGreaterThanOrEqualTo(1));
			for (String bound : List.of("0.001", "60.0", "+Inf")) {
				assertThat(app.metric("http_server_requests_seconds_bucket", "uri=\"/thread\"", "status=\"200\"",
						"le=\"" + bound + "\""))
					.isNotNaN();
			}
		}

		@Test
		void countRequestsInFlight() {
			await().until(() -> app.inFlight() == 0);
			try (LabApp.Gate gate = app.shutGate()) {
				CompletableFuture<HttpResponse<String>> response = app.getAsync("/thread?duration=1ms");
				await().until(() -> app.inFlight() == 1);
				gate.open();
				assertThat(response.join().statusCode()).isEqualTo(200);
			}
			await().until(() -> app.inFlight() == 0);
		}

		@Test
		void countThreadsAndConnectionsOfTomcat() {
			if (variant.isVirtual()) {
				assertThat(app.metric("tomcat_threads_busy_threads")).isEqualTo(-1);
				assertThat(app.metric("tomcat_threads_config_max_threads")).isEqualTo(-1);
			}
			else {
				assertThat(app.metric("tomcat_threads_busy_threads")).isGreaterThanOrEqualTo(0);
				assertThat(app.metric("tomcat_threads_config_max_threads")).isEqualTo(200);
			}
			assertThat(app.metric("tomcat_threads_current_threads")).isNotNaN();
			assertThat(app.metric("tomcat_connections_config_max_connections")).isEqualTo(8192);
			assertThat(app.metric("tomcat_connections_current_connections")).isNotNaN();
		}

		@Test
		void countVirtualThreads() {
			assertThat(app.metric("jvm_threads_virtual_pinned_seconds_count")).isNotNaN();
			assertThat(app.metric("jvm_threads_virtual_submit_failed_total")).isNotNaN();
			if (Runtime.version().feature() >= 24) {
				assertThat(app.metric("jvm_threads_virtual_parallelism"))
					.isEqualTo(Runtime.getRuntime().availableProcessors());
				assertThat(app.metric("jvm_threads_virtual_pool_size_threads")).isNotNaN();
				assertThat(app.metric("jvm_threads_virtual_live_threads", "mounted")).isNotNaN();
				assertThat(app.metric("jvm_threads_virtual_live_threads", "queued")).isNotNaN();
				assertThat(app.metric("jvm_threads_virtual_mounted_seconds_total")).isNotNaN();
				assertThat(app.metric("jvm_threads_virtual_queued_seconds_total")).isNotNaN();
			}
			// By this one vtlab knows a service that has the agent.
			assertThat(app.metric("vtlab_agent_samples_total")).isNaN();
		}

		@Test
		void countCarriers() throws Exception {
			Thread.ofVirtual().start(() -> { }).join();
			assertThat(app.metric("jvm_threads_virtual_carriers_threads")).isGreaterThanOrEqualTo(1);
			if (Runtime.version().feature() >= 24) {
				// The two are not read at the same moment.
				await().untilAsserted(() -> assertThat(app.metric("jvm_threads_virtual_carriers_threads"))
					.isEqualTo(app.metric("jvm_threads_virtual_pool_size_threads")));
			}
		}

		@Test
		void countAVirtualThreadPinnedForFiveMilliseconds() throws Exception {
			// More than one binder, and every event would count twice.
			assertThat(app.bean(VirtualThreadMetrics.class)).isNotNull();
			double count = app.metric("jvm_threads_virtual_pinned_seconds_count");
			double seconds = app.metric("jvm_threads_virtual_pinned_seconds_sum");
			CountDownLatch pinned = new CountDownLatch(1);
			CountDownLatch released = new CountDownLatch(1);
			Thread thread = Thread.ofVirtual().start(() -> Pinning.until(pinned, released));
			try {
				pinned.await();
				// Not much more than five milliseconds, where the machine can.
				await().pollDelay(Duration.ZERO)
					.pollInterval(Duration.ofMillis(1))
					.until(() -> thread.getState() == Thread.State.WAITING);
				Thread.sleep(5);
			}
			finally {
				released.countDown();
			}
			thread.join();
			// JDK 21 also pins for a moment here and there, thus the sum. Flight Recorder delivers once a second.
			await().until(() -> app.metric("jvm_threads_virtual_pinned_seconds_sum") >= seconds + 0.005);
			assertThat(app.metric("jvm_threads_virtual_pinned_seconds_count")).isGreaterThan(count);
		}

		/** Under other names vtlab would evaluate to nothing. */
		@Test
		void haveTheNamesThatVtlabReads() {
			boolean cpuLimit = !Double.isNaN(app.metric("cgroup_cpu_limit_cores"));
			boolean memoryLimit = !Double.isNaN(app.metric("cgroup_memory_limit_bytes"));
			List<String> names = ScrapedMetrics.namesThatVtlabReads()
				.stream()
				.filter((name) -> !ABSENT.matcher(name).matches())
				// The scheduler has no meters before JDK 24.
				.filter((name) -> Runtime.version().feature() >= 24 || !name
					.matches("jvm_threads_virtual_(parallelism|live_threads|(mounted|queued)_seconds_total)"))
				// Without a quota here, CgroupTests has the same names.
				.filter((name) -> cpuLimit || !name.startsWith("cgroup_cpu_"))
				.filter((name) -> memoryLimit || !name.equals("cgroup_memory_limit_bytes"))
				.toList();
			assertThat(names).hasSizeGreaterThan(20);
			app.get("/thread?duration=1ms");
			// The first pause brings the meter with it.
			System.gc();
			await().untilAsserted(() -> {
				Set<String> scraped = app.scrape()
					.stream()
					.map((line) -> line.replaceFirst("[{ ].*", ""))
					.collect(Collectors.toSet());
				assertThat(scraped).containsAll(names);
			});
		}

		@Test
		void countTasksOfTheExecutors() {
			for (String name : List.of("bounded", "fan-out-pool8", "fan-out-pool200", "fan-out-processors")) {
				for (String meter : List.of("executor_active_threads", "executor_queued_tasks",
						"executor_pool_max_threads", "executor_pool_core_threads")) {
					assertThat(app.metric(meter, "name=\"" + name + "\"")).as(name).isNotNaN();
				}
			}
			assertThat(app.metric("executor_queue_remaining_tasks", "name=\"bounded\"")).isEqualTo(1000);
			takeTheTimeOfTasks("bounded", "/run/cpu?tasks=2&limit=10&executor=bounded");
			takeTheTimeOfTasks("fan-out-pool8", "/fan-out?tasks=2&iterations=1&executor=pool8");
			takeTheTimeOfTasks("fan-out-processors", "/fan-out?tasks=2&iterations=1&executor=processors");
			assertThat(app.metric("executor_rejected_tasks_total", "name=\"bounded\"")).isZero();
			// Spring Boot's own executor is still there. It is a pool on platform threads only.
			assertThat(app.metric("executor_pool_core_threads", "name=\"applicationTaskExecutor\""))
				.isEqualTo(Double.valueOf(variant.isVirtual() ? Double.NaN : 8));
		}

		/** The hold of a thread, with the labels of the meters that say how many threads there are. */
		private void takeTheTimeOfTasks(String name, String path) {
			String label = "name=\"" + name + "\"";
			double before = app.metric("executor_seconds_count", label);
			double seconds = app.metric("executor_seconds_sum", label);
			assertThat(app.get(path).statusCode()).isEqualTo(200);
			await().untilAsserted(
					() -> assertThat(app.metric("executor_seconds_count", label)).as(name).isEqualTo(before + 2));
			assertThat(app.metric("executor_seconds_sum", label)).as(name).isGreaterThan(seconds);
		}

		@Test
		void haveNoPoolOfConnectionsWithoutADatabase() {
			assertThat(app.metric("hikaricp_connections_max")).isNaN();
		}

		@Test
		void countThePoolOfTheDownstream() {
			assertThat(app.metric("httpcomponents_httpclient_pool_total_max", "httpclient=\"downstream\""))
				.isEqualTo(100);
			assertThat(app.get("/downstream?duration=1ms").statusCode()).isEqualTo(200);
			await().untilAsserted(() -> assertThat(app.metric("http_client_requests_seconds_count", "status=\"200\""))
				.isGreaterThanOrEqualTo(1));
			assertThat(app.metric("http_client_requests_seconds_sum", "status=\"200\"")).isGreaterThan(0);
		}

		/** What vtlab shows as the place of a pinned thread. */
		@Test
		void countPinnedThreadsByClassAndLine() {
			boolean pins = Runtime.version().feature() < 24 && variant.isVirtual();
			await().untilAsserted(() -> {
				Thread.ofVirtual().start(Pinning::fiveMilliseconds).join();
				app.get("/pinned?duration=5ms&lock=monitor");
				assertThat(app.metric("jvm_threads_virtual_pinned_at_total",
						pins ? "class=\"lab.virtualthreads.pinned.PinnedController\""
								: "class=\"vtlab.testing.Pinning$Sleeper\""))
					.isGreaterThanOrEqualTo(1);
			});
		}

		@Test
		void countPausesOfTheGarbageCollector() {
			System.gc();
			await().until(() -> app.metric("jvm_gc_pause_seconds_count") >= 1);
			assertThat(app.metric("jvm_gc_pause_seconds_sum")).isGreaterThan(0);
			assertThat(app.metric("jvm_gc_pause_seconds_max")).isNotNaN();
		}

		@Test
		void describeTheProcess() {
			assertThat(app.metric("process_resident_memory_bytes"))
				.isGreaterThan(app.metric("jvm_memory_used_bytes", "area=\"heap\""));
			assertThat(app.metric("process_resident_memory_peak_bytes")).isNotNaN().isPositive();
			assertThat(app.metric("vtlab_jit_cpu_seconds_total")).isNotNaN().isPositive();
			assertThat(app.metric("jvm_info", "version=", "vendor=")).isEqualTo(1);
			assertThat(app.metric("process_cpu_time_ns_total")).isGreaterThan(0);
			assertThat(app.metric("jvm_memory_used_bytes", "area=\"heap\"")).isGreaterThan(0);
			assertThat(app.metric("jvm_gc_info", "name=")).isEqualTo(1);
			assertThat(app.metric("system_cpu_count")).isEqualTo(Runtime.getRuntime().availableProcessors());
		}

		@Test
		void keepToKnownPaths() {
			for (int i = 0; i < 5; i++) {
				app.get("/unknown-" + i);
				app.get("/thread/" + i);
			}
			await().until(
					() -> app.metric("http_server_requests_seconds_count", "uri=\"NOT_FOUND\"") >= 10);
			Set<String> paths = app.scrape()
				.stream()
				.filter((line) -> line.startsWith("http_server_"))
				.flatMap((line) -> Pattern.compile("[{,]uri=\"([^\"]*)\"").matcher(line).results())
				.map((MatchResult match) -> match.group(1))
				.collect(Collectors.toSet());
			assertThat(paths).isSubsetOf("/thread", "/pinned", "/downstream", "/fan-out", "/run/cpu", "/error",
					"NOT_FOUND", "UNKNOWN");
		}

	}

	@Nested
	class Management {

		@ParameterizedTest
		@ValueSource(strings = { "/actuator/health", "/actuator/health/liveness", "/actuator/health/readiness" })
		void isUp(String path) {
			HttpResponse<String> response = app.management(path);
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(json(response).get("status").stringValue()).isEqualTo("UP");
		}

		/** On virtual threads a scrape would wait for a carrier behind the workload. */
		@Test
		void isServedByPlatformThreads() {
			app.management("/actuator/health");
			assertThat(app.bean(LabApp.RequestThreads.class).ofHealth.isVirtual()).isFalse();
		}

		@ParameterizedTest
		@ValueSource(strings = { "/actuator/env", "/actuator/metrics", "/actuator/shutdown", "/thread?duration=1ms" })
		void showsNothingElse(String path) {
			assertThat(app.management(path).statusCode()).isEqualTo(404);
		}

	}

	private static JsonNode assertProblem(HttpResponse<String> response, int status) {
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
		JsonNode problem = json(response);
		assertThat(problem.get("status").intValue()).isEqualTo(status);
		assertThat(problem.get("title").stringValue()).isNotBlank();
		return problem;
	}

}
