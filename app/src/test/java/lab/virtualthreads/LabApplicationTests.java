package lab.virtualthreads;

import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.micrometer.java21.instrument.binder.jdk.VirtualThreadMetrics;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * What the application promises, over HTTP, in both thread modes.
 */
@ParameterizedClass
@EnumSource
class LabApplicationTests {

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

	@Nested
	class ThreadWorkload {

		@Test
		void runsOnTheThreadOfTheVariant() {
			HttpResponse<String> response = app.get("/thread?duration=1ms");
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(response.headers().firstValue("Content-Type")).contains("application/json");
			assertThat(json(response).propertyNames()).containsExactly("isVirtual", "threadName");
			assertThat(json(response).get("isVirtual").booleanValue()).isEqualTo(variant.isVirtual());
			assertThat(json(response).get("threadName").stringValue()).matches(variant.isVirtual()
					? "VirtualThread\\[#\\d+,tomcat-handler-\\d+]/runnable@ForkJoinPool-1-worker-\\d+" : "http-nio-.+-exec-\\d+");
		}

		@ParameterizedTest
		@CsvSource({ "250ms, 250", "PT0.2S, 200", "150, 150", "0s, 0" })
		void waitsAtLeastTheDuration(String duration, long milliseconds) {
			long start = System.nanoTime();
			assertThat(app.get("/thread?duration=" + duration).statusCode()).isEqualTo(200);
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(milliseconds));
		}

		@Test
		void answersAProblemWhenInterrupted() throws Exception {
			String query = "duration=59s";
			CompletableFuture<HttpResponse<String>> response = app.getAsync("/thread?" + query);
			LabApp.RequestThreads threads = app.bean(LabApp.RequestThreads.class);
			await().until(() -> threads.byQuery.containsKey(query));
			threads.byQuery.get(query).interrupt();
			assertProblem(response.get(), 503);
		}

	}

	@Nested
	class CpuWorkload {

		@Test
		void hashesTheHash() throws Exception {
			MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
			byte[] expected = sha256.digest(sha256.digest(sha256.digest(new byte[32])));
			JsonNode answer = json(app.get("/cpu?iterations=3"));
			assertThat(answer.get("iterations").longValue()).isEqualTo(3);
			assertThat(answer.get("digest").stringValue()).isEqualTo(HexFormat.of().formatHex(expected));
		}

		@Test
		void hashesAsOftenAsAllowed() {
			assertThat(json(app.get("/cpu?iterations=10000000")).get("iterations").longValue()).isEqualTo(10_000_000);
		}

	}

	@Nested
	class MixedWorkload {

		@Test
		void waitsAndHashes() {
			long start = System.nanoTime();
			JsonNode answer = json(app.get("/mixed?iterations=1&duration=100ms"));
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
			// SHA-256 of 32 zero bytes.
			assertThat(answer.get("digest").stringValue())
				.isEqualTo("66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925");
		}

	}

	@Nested
	class Problems {

		@ParameterizedTest
		@CsvSource(nullValues = "null", textBlock = """
				/thread                                           | duration   | null
				/thread?                                          | duration   | null
				/thread?duration                                  | duration   | ''
				/thread?duration=                                 | duration   | ''
				/thread?duration=%20                              | duration   | ' '
				/thread?duration=soon                             | duration   | soon
				/thread?duration=5x                               | duration   | 5x
				/thread?duration=1.5s                             | duration   | 1.5s
				/thread?duration=%FF                              | duration   | \uFFFD
				/thread?duration=-1s                              | duration   | -1s
				/thread?duration=-1ns                             | duration   | -1ns
				/thread?duration=61s                              | duration   | 61s
				/thread?duration=60001ms                          | duration   | 60001ms
				/thread?duration=99999999999999999999s            | duration   | 99999999999999999999s
				/thread?duration=9223372036854775807d             | duration   | 9223372036854775807d
				/thread?duration=PT9223372036854775807H           | duration   | PT9223372036854775807H
				/thread?duration=1s&users=5                       | users      | 5
				/thread?duration=1s&Duration=1s                   | Duration   | 1s
				/thread?duration=1s&=5                            | ''         | 5
				/cpu                                              | iterations | null
				/cpu?iterations=                                  | iterations | ''
				/cpu?iterations=0                                 | iterations | 0
				/cpu?iterations=-5                                | iterations | -5
				/cpu?iterations=%2B5                              | iterations | +5
				/cpu?iterations=5+                                | iterations | '5 '
				/cpu?iterations=1e3                               | iterations | 1e3
				/cpu?iterations=0x10                              | iterations | 0x10
				/cpu?iterations=%D9%A5                            | iterations | \u0665
				/cpu?iterations=10000001                          | iterations | 10000001
				/cpu?iterations=9223372036854775808               | iterations | 9223372036854775808
				/cpu?iterations=1&duration=1s                     | duration   | 1s
				/mixed?duration=1ms                               | iterations | null
				/mixed?iterations=1                               | duration   | null
				/mixed?duration=1ms&iterations=1000001            | iterations | 1000001
				/mixed?duration=61s&iterations=1                  | duration   | 61s
				""", delimiter = '|')
		void nameTheParameterAndWhatIsAllowed(String path, String parameter, String value) {
			JsonNode problem = assertProblem(app.get(path), 400);
			assertThat(problem.get("parameter").stringValue()).isEqualTo(parameter);
			assertThat(problem.get("value").stringValue(null)).isEqualTo(value);
			assertThat(problem.get("allowed").stringValue()).isNotBlank();
			assertThat(problem.get("detail").stringValue()).contains("'" + parameter + "'", "allowed");
		}

		@ParameterizedTest
		@CsvSource({ "duration=%zz, duration", "duration=5s%, duration", "duration=1s&%u0041=5, %u0041" })
		void nameTheParameterThatCannotBeDecoded(String query, String parameter) {
			assertThat(app.getMalformed("/thread?" + query)).startsWith("HTTP/1.1 400 ")
				.contains("Content-Type: application/problem+json", "\"parameter\":\"" + parameter + "\"");
		}

		/** All that Tomcat can let through; it refuses other raw characters itself, with a page of its own. */
		@ParameterizedTest
		@ValueSource(strings = { "\"", "<", ">", "[", "\\", "]", "^", "`", "{", "|", "}" })
		void nameTheParameterWithARawCharacter(String character) {
			String escaped = character.replaceAll("[\"\\\\]", "\\\\$0");
			assertThat(app.getMalformed("/thread?duration=5s" + character)).startsWith("HTTP/1.1 400 ")
				.contains("Content-Type: application/problem+json", "\"parameter\":\"duration\"",
						"\"value\":\"5s" + escaped + "\"");
			assertThat(app.getMalformed("/thread?duration=1ms&" + character + "=5")).startsWith("HTTP/1.1 400 ")
				.contains("Content-Type: application/problem+json", "\"parameter\":\"" + escaped + "\"");
		}

		@ParameterizedTest
		@ValueSource(strings = { "duration=1ms&duration=2ms", "duration=1ms&duration=1ms", "duration&duration=1ms",
				"duration=1ms&users=1&users=2" })
		void listTheValuesOfARepeatedParameter(String query) {
			JsonNode problem = assertProblem(app.get("/thread?" + query), 400);
			assertThat(problem.get("value").size()).isEqualTo(2);
		}

		@Test
		void sayTheBounds() {
			assertThat(json(app.get("/thread?duration=2m")).get("allowed").stringValue()).contains("0s", "60s");
			assertThat(json(app.get("/cpu?iterations=0")).get("allowed").stringValue()).contains(" 1 ", "10000000");
		}

		@ParameterizedTest
		@ValueSource(strings = { "/", "/nothing", "/thread/", "/thread/5s", "/error", "/actuator", "/actuator/health",
				"/actuator/prometheus" })
		void answerUnknownPaths(String path) {
			assertProblem(app.get(path), 404);
		}

		@ParameterizedTest
		@ValueSource(strings = { "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW" })
		void answerOtherMethods(String method) {
			HttpRequest.Builder request = app.request("/thread?duration=1ms").method(method, BodyPublishers.noBody());
			assertProblem(app.send(request), 405);
		}

		@Test
		void answerOtherMediaTypesBeforeAnyWork() {
			// Would time out if the wait came first.
			HttpRequest.Builder request = app.request("/thread?duration=59s")
				.header("Accept", "text/plain")
				.timeout(Duration.ofSeconds(50));
			assertProblem(app.send(request), 406);
		}

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
			}
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
		@ParameterizedTest
		@MethodSource("lab.virtualthreads.MetricNames#ofExpressions")
		void haveTheNamesThatVtlabReads(String name) {
			assumeTrue(!name.matches("jvm_threads_virtual_(parallelism|live_threads)")
					|| Runtime.version().feature() >= 24, "The scheduler has no meters before JDK 24");
			// All four are from the group with the quota; CgroupTests has one, and the same names.
			assumeTrue(!name.startsWith("cgroup_cpu_") || !Double.isNaN(app.metric("cgroup_cpu_limit_cores")),
					"No CPU quota here");
			assumeTrue(!name.equals("cgroup_memory_limit_bytes") || !Double.isNaN(app.metric(name)),
					"No memory limit here");
			app.get("/thread?duration=1ms");
			// The first pause brings the meter with it.
			System.gc();
			await().untilAsserted(() -> assertThat(app.metric(name)).isNotNaN());
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
				.flatMap((line) -> Pattern.compile("[{,]uri=\"([^\"]*)\"").matcher(line).results())
				.map((MatchResult match) -> match.group(1))
				.collect(Collectors.toSet());
			assertThat(paths).isSubsetOf("/thread", "/cpu", "/mixed", "/error", "NOT_FOUND", "UNKNOWN");
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
