package lab.virtualthreads;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The variant {@code reactive} waits without a thread and has the meters of the other variants, under the same names.
 */
@Tag("context")
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
	void hasTheseWorkloadsOnly() {
		assertThat(app.bean(RequestMappingHandlerMapping.class)
			.getHandlerMethods()
			.keySet()
			.stream()
			.flatMap((mapping) -> mapping.getDirectPaths().stream())).containsExactlyInAnyOrder("/thread", "/mixed");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/", "/thread/5s", "/actuator/health" })
	void answersUnknownPaths(String path) {
		assertProblem(app.get(path), 404);
	}

	/** Reactor Netty up to 1.3.7 stopped reading a connection after such a pair (its issue 4361). */
	@Test
	void readsOnAfterARequestThatCameBeforeTheAnswerToTheLast() throws IOException {
		try (Socket socket = new Socket("localhost", app.port())) {
			// A connection that is not read says nothing.
			socket.setSoTimeout(Math.toIntExact(LabApp.LONGEST_WAIT.toMillis()));
			BufferedReader in = new BufferedReader(
					new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
			sendGets(socket, "/thread?duration=50ms", "/nothing");
			assertThat(statusLine(in)).contains(" 200 ");
			assertThat(statusLine(in)).contains(" 404 ");
			sendGets(socket, "/nothing");
			assertThat(statusLine(in)).contains(" 404 ");
		}
	}

	private static void sendGets(Socket socket, String... paths) throws IOException {
		String requests = Stream.of(paths)
			.map((path) -> "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
			.collect(Collectors.joining());
		socket.getOutputStream().write(requests.getBytes(StandardCharsets.UTF_8));
	}

	/** Reads the next status line, wherever the body before it ended. */
	private static String statusLine(BufferedReader in) throws IOException {
		String line = in.readLine();
		while (line != null && !line.contains("HTTP/1.1 ")) {
			line = in.readLine();
		}
		return line;
	}

	@Test
	void namesTheParameterOverHttp() {
		JsonNode problem = assertProblem(app.get("/thread?duration"), 400);
		assertThat(problem.get("parameter").stringValue()).isEqualTo("duration");
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
