package lab.virtualthreads.web;

import java.net.URI;

import lab.virtualthreads.ReactiveSlice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.web.reactive.server.WebTestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The variant {@code reactive} answers a query that a workload does not accept as the servlet variants do.
 */
@ReactiveSlice
class ReactiveQueryCheckTests {

	@Autowired
	private WebTestClient client;

	@ParameterizedTest
	@CsvSource(textBlock = """
			/thread                                | duration   | is missing
			/thread?duration=                      | duration   | is empty
			/thread?duration=soon                  | duration   | is 'soon', not a duration such as 50ms or 5s
			/thread?duration=%FF                   | duration   | not a duration
			/thread?duration=-1s                   | duration   | at least 0s
			/thread?duration=61s                   | duration   | 60 seconds
			/thread?duration=exp(soon)             | duration   | or exp(5s), drawn
			/thread?duration=exp(61s)              | duration   | 60 seconds
			/mixed?duration=exp(61s)&iterations=1  | duration   | 60 seconds
			/thread?duration=1s&users=5            | users      | is unknown; known: duration
			/thread?duration=1ms&duration=2ms      | duration   | is repeated: 1ms, 2ms
			/mixed?duration=1ms                    | iterations | is missing
			/mixed?duration=1ms&iterations=one     | iterations | is 'one', not a whole number
			/mixed?duration=1ms&iterations=1000001 | iterations | between 1 and 1000000
			/mixed?iterations=1                    | duration   | is missing
			""", delimiter = '|')
	void namesTheParameterAndWhatIsWrongWithIt(String path, String parameter, String problem) {
		JsonNode document = problem(this.client.get().uri(URI.create(path)), 400);
		assertThat(document.get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(document.get("detail").stringValue()).startsWith("Parameter '" + parameter + "' ").contains(problem);
	}

	/** The workloads of the servlet variants among them. */
	@ParameterizedTest
	@ValueSource(strings = { "/", "/nothing", "/thread/", "/thread/5s", "/error", "/cpu?iterations=1",
			"/fan-out?tasks=1&executor=pool8", "/run/io?executor=virtual", "/pinned?duration=1ms&lock=monitor",
			"/locked-out?timeout=1s", "/downstream?duration=1ms", "/stress/nosleep" })
	void answersUnknownPaths(String path) {
		problem(this.client.get().uri(URI.create(path)), 404);
	}

	@ParameterizedTest
	@ValueSource(strings = { "POST", "PUT", "DELETE", "PATCH" })
	void answersOtherMethods(String method) {
		problem(this.client.method(HttpMethod.valueOf(method)).uri("/thread?duration=1ms"), 405);
	}

	/** The query is not even looked at. */
	@Test
	void answersOtherMediaTypesBeforeAnyWork() {
		problem(this.client.get().uri("/thread?duration=61s").accept(MediaType.TEXT_PLAIN), 406);
	}

	@Test
	void waitsOnATimerAndSaysSo() {
		JsonNode answer = get("/thread?duration=0s");
		assertThat(answer.propertyNames()).containsExactly("isVirtual", "threadName");
		assertThat(answer.get("isVirtual").booleanValue()).isFalse();
		assertThat(answer.get("threadName").stringValue()).contains("parallel-");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/thread?duration=exp(1ms)", "/mixed?duration=exp(1ms)&iterations=1" })
	void drawsItsWait(String path) {
		assertThat(get(path).propertyNames()).isNotEmpty();
	}

	@Test
	void waitsAndHashes() {
		long start = System.nanoTime();
		JsonNode answer = get("/mixed?iterations=1&duration=100ms");
		assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(100_000_000);
		assertThat(answer.propertyNames()).containsExactly("iterations", "digest");
		// SHA-256 of 32 zero bytes.
		assertThat(answer.get("digest").stringValue())
			.isEqualTo("66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925");
	}

	private JsonNode get(String path) {
		return JsonMapper.shared()
			.readTree(this.client.get()
				.uri(path)
				.exchange()
				.expectStatus()
				.isOk()
				.expectHeader()
				.contentType(MediaType.APPLICATION_JSON)
				.expectBody()
				.returnResult()
				.getResponseBody());
	}

	private static JsonNode problem(WebTestClient.RequestHeadersSpec<?> request, int status) {
		JsonNode document = JsonMapper.shared()
			.readTree(request.exchange()
				.expectStatus()
				.isEqualTo(status)
				.expectHeader()
				.contentType(MediaType.APPLICATION_PROBLEM_JSON)
				.expectBody()
				.returnResult()
				.getResponseBody());
		assertThat(document.get("status").intValue()).isEqualTo(status);
		assertThat(document.get("title").stringValue()).isNotBlank();
		return document;
	}

}
