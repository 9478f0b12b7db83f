package lab.virtualthreads;

import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What the application promises as the variant {@code reactive}.
 */
class ReactiveTests {

	static final String REACTIVE = "--spring.main.web-application-type=reactive";

	private static LabApp app;

	@BeforeAll
	static void start() {
		app = LabApp.start(Variant.PLATFORM, REACTIVE);
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	@Test
	void waitsWithoutAThread() {
		List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			responses.add(app.getAsync("/thread?duration=60s"));
		}
		// None is done before all have come, however long a machine takes to connect them.
		await().atMost(Duration.ofSeconds(50)).until(() -> {
			assertThat(responses).noneMatch(CompletableFuture::isDone);
			return app.inFlight() == 200;
		});
		int processors = Runtime.getRuntime().availableProcessors();
		// The event loops and the timers, when those of an application before this one have ended.
		await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
			.filteredOn((thread) -> thread.getName().matches("parallel-.*|reactor-.*"))
			.hasSizeLessThanOrEqualTo(Math.max(4, processors) + processors));
		responses.forEach((response) -> response.cancel(true));
		await().until(() -> app.inFlight() == 0);
	}

	@Test
	void saysWhichThreadAnswered() {
		HttpResponse<String> response = app.get("/thread?duration=0s");
		assertThat(response.headers().firstValue("Content-Type")).contains("application/json");
		assertThat(json(response).propertyNames()).containsExactly("isVirtual", "threadName");
		assertThat(json(response).get("isVirtual").booleanValue()).isFalse();
		assertThat(json(response).get("threadName").stringValue()).contains("parallel-");
	}

	@Test
	void waitsAndHashes() {
		long start = System.nanoTime();
		HttpResponse<String> response = app.get("/mixed?iterations=1&duration=100ms");
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
		assertThat(json(response).propertyNames()).containsExactly("iterations", "digest");
		// SHA-256 of 32 zero bytes.
		assertThat(json(response).get("digest").stringValue())
			.isEqualTo("66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925");
	}

	@Test
	void hasTheseWorkloadsOnly() {
		assertThat(app.bean(RequestMappingHandlerMapping.class)
			.getHandlerMethods()
			.keySet()
			.stream()
			.flatMap((mapping) -> mapping.getDirectPaths().stream())).containsExactlyInAnyOrder("/thread", "/mixed");
	}

	@ParameterizedTest
	@CsvSource(nullValues = "null", textBlock = """
			/thread                                | duration   | null
			/thread?duration=                      | duration   | ''
			/thread?duration=soon                  | duration   | soon
			/thread?duration=%FF                   | duration   | \uFFFD
			/thread?duration=-1s                   | duration   | -1s
			/thread?duration=61s                   | duration   | 61s
			/thread?duration=1s&users=5            | users      | 5
			/thread?duration=1s&=5                 | ''         | 5
			/mixed?duration=1ms                    | iterations | null
			/mixed?duration=1ms&iterations=%2B5    | iterations | +5
			/mixed?duration=1ms&iterations=5+      | iterations | '5 '
			/mixed?duration=1ms&iterations=1000001 | iterations | 1000001
			/mixed?iterations=1                    | duration   | null
			""", delimiter = '|')
	void namesTheParameterAndWhatIsAllowed(String path, String parameter, String value) {
		JsonNode problem = assertProblem(app.get(path), 400);
		assertThat(problem.get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(problem.get("value").stringValue(null)).isEqualTo(value);
		assertThat(problem.get("allowed").stringValue()).isNotBlank();
		assertThat(problem.get("detail").stringValue()).contains("'" + parameter + "'", "allowed");
	}

	@Test
	void listsTheValuesOfARepeatedParameter() {
		assertThat(assertProblem(app.get("/thread?duration=1ms&duration=2ms"), 400).get("value").size()).isEqualTo(2);
	}

	@ParameterizedTest
	@CsvSource({ "duration=%zz, duration", "duration=5s%, duration", "duration=1s&%u0041=5, %u0041" })
	void namesTheParameterThatCannotBeDecoded(String query, String parameter) {
		assertThat(app.getMalformed("/thread?" + query)).startsWith("HTTP/1.0 400 ")
			.contains("Content-Type: application/problem+json", "\"parameter\":\"" + parameter + "\"");
	}

	@ParameterizedTest
	@ValueSource(strings = { "\"", "<", ">", "[", "\\", "]", "^", "`", "{", "|", "}" })
	void namesTheParameterWithARawCharacter(String character) {
		String escaped = character.replaceAll("[\"\\\\]", "\\\\$0");
		assertThat(app.getMalformed("/thread?duration=5s" + character)).startsWith("HTTP/1.0 400 ")
			.contains("Content-Type: application/problem+json", "\"parameter\":\"duration\"",
					"\"value\":\"5s" + escaped + "\"");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/", "/nothing", "/thread/", "/thread/5s", "/error", "/actuator/health",
			"/cpu?iterations=1", "/pinned?duration=1ms&lock=monitor", "/locked-out?timeout=1s", "/downstream?duration=1ms" })
	void answersUnknownPaths(String path) {
		assertProblem(app.get(path), 404);
	}

	@ParameterizedTest
	@ValueSource(strings = { "POST", "PUT", "DELETE", "PATCH" })
	void answersOtherMethods(String method) {
		HttpRequest.Builder request = app.request("/thread?duration=1ms").method(method, BodyPublishers.noBody());
		assertProblem(app.send(request), 405);
	}

	@Test
	void answersOtherMediaTypesBeforeAnyWork() {
		HttpRequest.Builder request = app.request("/thread?duration=59s")
			.header("Accept", "text/plain")
			.timeout(Duration.ofSeconds(50));
		assertProblem(app.send(request), 406);
	}

	@Test
	void measuresRequestsUnderTheNamesOfTheOtherVariants() {
		app.get("/thread?duration=1ms");
		app.get("/nothing");
		await().untilAsserted(() -> assertThat(
				app.metric("http_server_requests_seconds_bucket", "uri=\"/thread\"", "status=\"200\"", "le=\"60.0\""))
			.isGreaterThanOrEqualTo(1));
		List<String> series = app.scrape()
			.stream()
			.filter((line) -> line.startsWith("http_server_requests_seconds_count"))
			.toList();
		assertThat(labels(series, "(\\w+)=\"")).containsExactlyInAnyOrder("error", "exception", "method", "outcome",
				"status", "uri");
		// None of the management port.
		assertThat(labels(series, "uri=\"([^\"]*)\"")).isSubsetOf("/thread", "/mixed", "NOT_FOUND", "UNKNOWN");
		await().until(() -> app.inFlight() == 0);
	}

	@Test
	void servesTheManagementPortByThreadsOfItsOwn() {
		assertThat(json(app.management("/actuator/health")).get("status").stringValue()).isEqualTo("UP");
		assertThat(app.management("/actuator/health/readiness").statusCode()).isEqualTo(200);
		assertThat(app.management("/thread?duration=1ms").statusCode()).isEqualTo(404);
		assertThat(app.bean(LabApp.RequestThreads.class).ofHealth.isVirtual()).isFalse();
		assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
			.anyMatch((name) -> name.startsWith("management-"));
	}

	private static Set<String> labels(List<String> series, String pattern) {
		return series.stream()
			.flatMap((line) -> Pattern.compile(pattern).matcher(line).results())
			.map((MatchResult match) -> match.group(1))
			.collect(Collectors.toSet());
	}

	private static JsonNode assertProblem(HttpResponse<String> response, int status) {
		assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
		JsonNode problem = json(response);
		assertThat(problem.get("status").intValue()).isEqualTo(status);
		assertThat(problem.get("title").stringValue()).isNotBlank();
		return problem;
	}

}
