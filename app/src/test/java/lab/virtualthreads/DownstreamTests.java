package lab.virtualthreads;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Calls from one real application to another, and to servers that do not behave.
 */
@ExtendWith(OutputCaptureExtension.class)
@ParameterizedClass
@EnumSource
class DownstreamTests {

	private static LabApp downstream;

	@Parameter
	private Variant variant;

	@BeforeParameterizedClassInvocation
	static void start(Variant variant) {
		downstream = LabApp.start(variant, "--lab.thread.max-duration=10s");
	}

	@AfterParameterizedClassInvocation
	static void stop() {
		downstream.close();
	}

	@Test
	void answersWhatTheDownstreamAnsweredAndWhichKindOfThreadWaited() {
		try (LabApp app = start(url())) {
			HttpResponse<String> response = app.get("/downstream?duration=1ms");
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(json(response).propertyNames()).containsExactly("isVirtual", "downstream");
			assertThat(json(response).get("isVirtual").booleanValue()).isEqualTo(this.variant.isVirtual());
			assertThat(json(response).get("downstream").propertyNames())
				.isEqualTo(json(downstream.get("/thread?duration=1ms")).propertyNames());
			assertThat(downstream.metric("http_server_requests_seconds_count", "uri=\"/thread\"", "status=\"200\""))
				.isGreaterThanOrEqualTo(1);
		}
	}

	@ParameterizedTest
	@CsvSource(nullValues = "null", textBlock = """
			/downstream                        | duration | null
			/downstream?duration=61s           | duration | 61s
			/downstream?duration=1ms&lock=none | lock     | none
			""", delimiter = '|')
	void namesTheParameterAndWhatIsAllowed(String path, String parameter, String value) {
		try (LabApp app = start(url())) {
			JsonNode problem = assertProblem(app.get(path), 400);
			assertThat(problem.get("parameter").stringValue()).isEqualTo(parameter);
			assertThat(problem.get("value").stringValue(null)).isEqualTo(value);
		}
	}

	@Test
	void queuesForAConnectionAndCountsThem() {
		try (LabApp app = start(url(), "--lab.downstream.max-connections=2");
				LabApp.Gate gate = downstream.shutGate()) {
			assertThat(app.metric("httpcomponents_httpclient_pool_total_max", "httpclient=\"downstream\""))
				.isEqualTo(2);
			assertThat(connections(app, "leased")).isZero();
			List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
			for (int i = 0; i < 5; i++) {
				responses.add(app.getAsync("/downstream?duration=1ms"));
			}
			await().untilAsserted(() -> {
				assertThat(connections(app, "leased")).isEqualTo(2);
				assertThat(app.metric("httpcomponents_httpclient_pool_total_pending")).isEqualTo(3);
			});
			gate.open();
			assertThat(responses).allSatisfy((response) -> assertThat(response.join().statusCode()).isEqualTo(200));
			await().until(() -> connections(app, "leased") == 0);
			assertThat(connections(app, "available")).isBetween(1.0, 2.0);
		}
	}

	@Test
	void saysWhatToSetWithoutADownstream() {
		try (LabApp app = LabApp.start(this.variant)) {
			assertThat(detail(app, "duration=1ms", 503)).contains("lab.downstream.url", "LAB_DOWNSTREAM_URL");
		}
		try (LabApp app = start("")) {
			assertThat(detail(app, "duration=1ms", 503)).contains("lab.downstream.url", "LAB_DOWNSTREAM_URL");
		}
	}

	@Test
	void answers503WhenNoConnectionIsFreeInTime() {
		try (LabApp app = start(url(), "--lab.downstream.max-connections=1", "--lab.downstream.lease-timeout=100ms");
				LabApp.Gate gate = downstream.shutGate()) {
			CompletableFuture<HttpResponse<String>> first = app.getAsync("/downstream?duration=1ms");
			await().until(() -> connections(app, "leased") == 1);
			assertThat(detail(app, "duration=1ms", 503)).contains("None of the 1 connections",
					"lab.downstream.lease-timeout");
			assertThat(app.metric("httpcomponents_httpclient_pool_total_pending")).isZero();
			gate.open();
			assertThat(first.join().statusCode()).isEqualTo(200);
		}
	}

	@Test
	void answers502WhenTheDownstreamAnswersAnError() {
		try (LabApp app = start(url())) {
			assertThat(detail(app, "duration=11s", 502)).contains("answered 400", "from 0s to 10s");
		}
	}

	@ParameterizedTest
	@CsvSource(textBlock = """
			''
			HTTP/1.0 200 OK
			HTTP/1.0 204 No Content
			HTTP/1.0 200 OK~Content-Type: application/json~~{"isVirtual":
			HTTP/1.0 200 OK~Content-Type: text/html~~<html></html>
			HTTP/1.0 302 Found~Location: /other
			HTTP/1.0 500 Internal Server Error
			""", delimiter = '|')
	void answers502WhenTheDownstreamAnswersNonsense(String response) throws IOException {
		try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("localhost"))) {
			Thread.ofPlatform().daemon().start(() -> {
				try (Socket socket = server.accept()) {
					socket.getInputStream().read(new byte[4096]);
					if (!response.isEmpty()) {
						socket.getOutputStream()
							.write((response.replace("~", "\r\n") + "\r\n\r\n").getBytes(StandardCharsets.UTF_8));
					}
				}
				catch (IOException ex) {
					// The test fails for want of an answer.
				}
			});
			try (LabApp app = start("http://localhost:" + server.getLocalPort())) {
				assertThat(detail(app, "duration=1ms", 502)).contains("downstream at http://localhost:");
			}
		}
	}

	@Test
	void answers502WhenNobodyListens() throws IOException {
		int port;
		try (ServerSocket server = new ServerSocket(0)) {
			port = server.getLocalPort();
		}
		try (LabApp app = start("http://localhost:" + port)) {
			assertThat(detail(app, "duration=1ms", 502)).contains("refused");
		}
		try (LabApp app = start("http://downstream.invalid:8080")) {
			assertThat(detail(app, "duration=1ms", 502)).contains("downstream.invalid");
		}
	}

	@Test
	void answers504WhenTheDownstreamDoesNotAnswer() throws IOException {
		// Its backlog takes the connection.
		try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("localhost"));
				LabApp app = start("http://localhost:" + server.getLocalPort(), "--lab.downstream.max-duration=10ms",
						"--lab.downstream.response-timeout=100ms")) {
			assertThat(detail(app, "duration=1ms", 504)).contains("did not answer", "lab.downstream.response-timeout");
			await().until(() -> connections(app, "leased") == 0);
		}
	}

	@Test
	void answers504WhenTheDownstreamAcceptsNoConnection() throws IOException {
		List<Socket> queued = new ArrayList<>();
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
				LabApp app = start("http://127.0.0.1:" + server.getLocalPort(),
						"--lab.downstream.connect-timeout=200ms")) {
			fillBacklog(server, queued);
			assertThat(detail(app, "duration=1ms", 504)).contains("accepted no connection",
					"lab.downstream.connect-timeout");
		}
		finally {
			for (Socket socket : queued) {
				socket.close();
			}
		}
	}

	@Test
	void answers503WhenInterrupted() {
		try (LabApp app = start(url(), "--lab.downstream.max-connections=1");
				LabApp.Gate gate = downstream.shutGate()) {
			LabApp.RequestThreads threads = app.bean(LabApp.RequestThreads.class);
			CompletableFuture<HttpResponse<String>> calling = app.getAsync("/downstream?duration=9ms");
			await().until(() -> connections(app, "leased") == 1);
			CompletableFuture<HttpResponse<String>> queueing = app.getAsync("/downstream?duration=8ms");
			await().until(() -> app.metric("httpcomponents_httpclient_pool_total_pending") == 1);
			threads.byQuery.get("duration=8ms").interrupt();
			assertProblem(queueing.join(), 503);
			threads.byQuery.get("duration=9ms").interrupt();
			if (this.variant.isVirtual()) {
				assertProblem(calling.join(), 503);
				gate.open();
			}
			else {
				// A platform thread that reads from a socket does not notice.
				assertThat(calling).isNotDone();
				gate.open();
				assertThat(calling.join().statusCode()).isEqualTo(200);
			}
			assertThat(app.get("/downstream?duration=1ms").statusCode()).isEqualTo(200);
			assertThat(app.metric("httpcomponents_httpclient_pool_total_pending")).isZero();
		}
	}

	@ParameterizedTest
	@CsvSource({ "url, downstream:8080", "url, ftp://downstream", "url, http://downstream:8080/thread",
			"url, http://user:word@downstream", "max-connections, 0", "max-duration, 0s", "connect-timeout, 0s",
			"lease-timeout, -1s", "response-timeout, 60s", "retries, 3" })
	void refusesToStartWithABadProperty(String property, String value, CapturedOutput output) {
		assertThatThrownBy(() -> LabApp.start(this.variant, "--lab.downstream." + property + "=" + value)).rootCause()
			.hasMessageContaining("lab.downstream." + property);
		assertThat(output).doesNotContain("user:word");
	}

	/** Connects until the kernel does not take any more. */
	private static void fillBacklog(ServerSocket server, List<Socket> queued) throws IOException {
		while (queued.size() < 100) {
			Socket socket = new Socket();
			queued.add(socket);
			try {
				socket.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), 500);
			}
			catch (SocketTimeoutException ex) {
				return;
			}
		}
		throw new AssertionError("The backlog has no end");
	}

	private LabApp start(String url, String... arguments) {
		List<String> all = new ArrayList<>(List.of(arguments));
		all.addFirst("--lab.downstream.url=" + url);
		return LabApp.start(this.variant, all.toArray(String[]::new));
	}

	private static String url() {
		return downstream.request("").build().uri().toString();
	}

	private static double connections(LabApp app, String state) {
		return app.metric("httpcomponents_httpclient_pool_total_connections", "state=\"" + state + "\"");
	}

	private static String detail(LabApp app, String query, int status) {
		return assertProblem(app.get("/downstream?" + query), status).get("detail").stringValue();
	}

	private static JsonNode assertProblem(HttpResponse<String> response, int status) {
		assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
		return json(response);
	}

}
