package lab.virtualthreads.web;

import java.net.URI;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MockMvcTester.MockMvcRequestBuilder;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A servlet variant answers a query that a workload does not accept with 400 and the name of the parameter, and every
 * other request that it refuses with a problem document, too.
 */
@ServletSlice
class QueryCheckTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@CsvSource(textBlock = """
			/thread                                           | duration   | is missing
			/thread?duration                                  | duration   | is empty
			/thread?duration=                                 | duration   | is empty
			/thread?duration=soon | duration | is 'soon', not a duration such as 50ms or 5s
			/thread?duration=5x                               | duration   | not a duration
			/thread?duration=1.5s                             | duration   | not a duration
			/thread?duration=-1s                              | duration   | at least 0s
			/thread?duration=-1ns                             | duration   | at least 0s
			/thread?duration=61s                              | duration   | 60 seconds
			/thread?duration=60001ms                          | duration   | 60 seconds
			/thread?duration=99999999999999999999s            | duration   | not a duration
			/thread?duration=9223372036854775807d             | duration   | not a duration
			/thread?duration=PT9223372036854775807H           | duration   | not a duration
			/thread?duration=exp()                            | duration   | not a duration
			/thread?duration=exp(soon) | duration | or exp(5s), drawn from an exponential distribution
			/thread?duration=exp(-1s)                         | duration   | at least 0s
			/thread?duration=exp(61s) | duration | is 'exp(PT1M1S)', must be shorter than or equal to 60 seconds
			/thread?duration=1s&users=5                       | users      | is unknown; known: duration
			/thread?duration=1s&Duration=1s                   | Duration   | is unknown
			/thread?duration=1ms&duration=2ms                 | duration   | is repeated: 1ms, 2ms
			/thread?duration=1ms&duration=1ms                 | duration   | is repeated
			/cpu                                              | iterations | is missing
			/cpu?iterations=                                  | iterations | is empty
			/cpu?iterations=0                                 | iterations | between 1 and 10000000
			/cpu?iterations=-5                                | iterations | between 1 and 10000000
			/cpu?iterations=1e3                               | iterations | is '1e3', not a whole number
			/cpu?iterations=10000001                          | iterations | between 1 and 10000000
			/cpu?iterations=9223372036854775808               | iterations | not a whole number
			/cpu?iterations=1&duration=1s                     | duration   | is unknown; known: iterations
			/compute                                          | duration   | is missing
			/compute?duration=61s                             | duration   | 60 seconds
			/compute?duration=exp(61s)                        | duration   | 60 seconds
			/compute?duration=-1ms                            | duration   | at least 0s
			/compute?iterations=1                             | iterations | is unknown; known: duration
			/mixed?duration=1ms                               | iterations | is missing
			/mixed?iterations=1                               | duration   | is missing
			/mixed?duration=1ms&iterations=1000001            | iterations | between 1 and 1000000
			/mixed?duration=61s&iterations=1                  | duration   | 60 seconds
			/mixed?duration=exp(61s)&iterations=1             | duration   | 60 seconds
			/fan-out?tasks=5                                  | executor   | is missing
			/fan-out?tasks=5&executor=pool9 | executor | not one of pool8, pool200, processors, virtual
			/fan-out?executor=pool8                           | tasks      | is missing
			/fan-out?tasks=0&executor=pool8                   | tasks      | between 1 and 1000
			/fan-out?tasks=1001&executor=pool8                | tasks      | between 1 and 1000
			/fan-out?tasks=5&executor=pool8&duration=1001ms   | duration   | 1 second
			/fan-out?tasks=5&executor=pool8&duration=exp(2s)  | duration   | 1 second
			/fan-out?tasks=5&executor=pool8&duration=-1ms     | duration   | at least 0s
			/fan-out?tasks=5&executor=pool8&iterations=500001 | iterations | between 0 and 500000
			/fan-out?tasks=5&executor=pool8&iterations=       | iterations | is empty
			/fan-out?tasks=5&executor=pool8&iteration=5 | iteration | known: tasks, executor, duration, iterations
			/run/cpu                                          | executor   | is missing
			/run/cpu?executor=pool8                           | executor   | not one of bounded, virtual
			/run/cpu?executor=virtual&limit=0                 | limit      | between 1 and 1000000
			/run/cpu?executor=virtual&limit=1000001           | limit      | between 1 and 1000000
			/run/cpu?executor=virtual&tasks=0                 | tasks      | between 1 and 10000
			/run/cpu?executor=virtual&tasks=10001             | tasks      | between 1 and 10000
			/run/io                                           | executor   | is missing
			/run/io?executor=virtual&limit=5                  | limit      | is unknown
			/run/io?executor=virtual&tasks=10001              | tasks      | between 1 and 10000
			/pinned?duration=1ms                              | lock       | is missing
			/pinned?lock=monitor                              | duration   | is missing
			/pinned?duration=1ms&lock=stamped                 | lock       | not one of monitor, reentrant
			/pinned?duration=61s&lock=monitor                 | duration   | 60 seconds
			/pinned?duration=exp(61s)&lock=monitor            | duration   | 60 seconds
			/pinned?duration=1ms&lock=monitor&n=1             | n          | is unknown
			/locked-out                                       | timeout    | is missing
			/locked-out?timeout=999ms                         | timeout    | 1 second
			/locked-out?timeout=11s                           | timeout    | 10 seconds
			/locked-out?timeout=exp(1s) | timeout | is 'exp(1s)', not a duration such as 50ms or 5s, at least 0s
			/locked-out?timeout=1s&n=1                        | n          | is unknown
			/downstream                                       | duration   | is missing
			/downstream?duration=61s                          | duration   | 60 seconds
			/downstream?duration=exp(61s)                     | duration   | 60 seconds
			/downstream?duration=1ms&lock=none                | lock       | is unknown
			/stress/nosleep?id=0                              | id         | between 1 and 100
			/stress/nosleep?id=101                            | id         | between 1 and 100
			/stress/nosleep?id=one                            | id         | not a whole number
			/stress/nosleep?id=                               | id         | is empty
			/stress/nosleep?id=1%20or%201=1                   | id         | is '1 or 1=1', not a whole number
			/stress/nosleep?duration=1s                       | duration   | is unknown; known: id
			/stress/sleep?id=0                                | id         | between 1 and 100
			/stress/sleep?duration=61s                        | duration   | 60 seconds
			/stress/sleep?duration=exp(61s)                   | duration   | 60 seconds
			/stress/sleep?duration=-1ms                       | duration   | at least 0s
			/stress/sleep?seconds=1                           | seconds    | is unknown; known: id, duration
			""", delimiter = '|')
	void namesTheParameterAndWhatIsWrongWithIt(String path, String parameter, String problem) throws Exception {
		JsonNode document = problem(this.mvc.get().uri(URI.create(path)), 400);
		assertThat(document.get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(document.get("detail").stringValue()).startsWith("Parameter '" + parameter + "' ").contains(problem);
	}

	/** Whatever the client reads, and wherever the application runs. */
	@Test
	void saysItInEnglish() throws Exception {
		JsonNode document = problem(this.mvc.get().uri("/cpu?iterations=0").header("Accept-Language", "de"), 400);
		assertThat(document.get("detail").stringValue())
			.isEqualTo("Parameter 'iterations' is '0', must be between 1 and 10000000");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/", "/nothing", "/thread/", "/thread/5s", "/error", "/error?code=1" })
	void answersUnknownPaths(String path) throws Exception {
		problem(this.mvc.get().uri(path), 404);
	}

	@ParameterizedTest
	@ValueSource(strings = { "POST", "PUT", "DELETE", "PATCH" })
	void answersOtherMethods(String method) throws Exception {
		problem(this.mvc.method(HttpMethod.valueOf(method)).uri("/thread?duration=1ms"), 405);
	}

	/** The query is not even looked at. */
	@Test
	void answersOtherMediaTypesBeforeAnyWork() throws Exception {
		problem(this.mvc.get().uri("/thread?duration=61s").accept(MediaType.TEXT_PLAIN), 406);
	}

	private static JsonNode problem(MockMvcRequestBuilder request, int status) throws Exception {
		MvcTestResult result = request.exchange();
		assertThat(result).hasStatus(status).hasContentType(MediaType.APPLICATION_PROBLEM_JSON);
		JsonNode document = JsonMapper.shared().readTree(result.getResponse().getContentAsByteArray());
		assertThat(document.get("status").intValue()).isEqualTo(status);
		assertThat(document.get("title").stringValue()).isNotBlank();
		return document;
	}

}
