package lab.virtualthreads.downstream;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import lab.virtualthreads.web.Wait;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Calls over a real pool to servers that answer, and to servers that do not behave.
 */
class DownstreamControllerTests {

	private static final Duration LONG = Duration.ofMinutes(5);

	private static final Wait SHORT_WAIT = Wait.of(Duration.ofMillis(1));

	private final List<AutoCloseable> opened = new ArrayList<>();

	private final CountDownLatch answered = new CountDownLatch(1);

	private PoolingHttpClientConnectionManager connections;

	@AfterEach
	void close() throws Exception {
		this.answered.countDown();
		for (AutoCloseable resource : this.opened.reversed()) {
			resource.close();
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void answersWhatTheDownstreamAnsweredAndWhichKindOfThreadWaited(boolean virtual) throws Exception {
		DownstreamController controller = controller(downstream(), 100, LONG, LONG, LONG);
		FutureTask<DownstreamAnswer> call = call(controller, virtual);
		this.answered.countDown();
		assertThat(call.get().isVirtual()).isEqualTo(virtual);
		assertThat(call.get().downstream().get("query").stringValue()).isEqualTo("duration=PT0.001S");
	}

	@Test
	void queuesForAConnectionAndCountsThem() throws Exception {
		DownstreamController controller = controller(downstream(), 2, LONG, LONG, LONG);
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		new DownstreamConfiguration().downstreamConnectionsMetrics(this.connections).bindTo(registry);
		Gauge most = registry.get("httpcomponents.httpclient.pool.total.max").tag("httpclient", "downstream").gauge();
		assertThat(most.value()).isEqualTo(2);
		List<FutureTask<DownstreamAnswer>> calls = Stream.generate(() -> call(controller, true)).limit(5).toList();
		await().untilAsserted(() -> {
			assertThat(meter(registry, "leased")).isEqualTo(2);
			assertThat(registry.get("httpcomponents.httpclient.pool.total.pending").gauge().value()).isEqualTo(3);
		});
		this.answered.countDown();
		for (FutureTask<DownstreamAnswer> call : calls) {
			assertThat(call.get().downstream()).isNotNull();
		}
		await().until(() -> meter(registry, "leased") == 0);
		assertThat(meter(registry, "available")).isBetween(1.0, 2.0);
	}

	@Test
	void saysWhatToSetWithoutADownstream() {
		assertProblem(controller("", 1, LONG, LONG, LONG), 503, "lab.downstream.url", "LAB_DOWNSTREAM_URL");
	}

	@Test
	void answers503WhenNoConnectionIsFreeInTime() throws Exception {
		DownstreamController controller = controller(downstream(), 1, LONG, LONG, Duration.ofMillis(100));
		FutureTask<DownstreamAnswer> first = call(controller, true);
		await().until(() -> this.connections.getTotalStats().getLeased() == 1);
		assertProblem(controller, 503, "None of the 1 connections", "lab.downstream.lease-timeout");
		// By another clock the deadline of the pool may come a little later.
		await().until(() -> this.connections.getTotalStats().getPending() == 0);
		this.answered.countDown();
		assertThat(first.get().downstream()).isNotNull();
	}

	@ParameterizedTest
	@CsvSource(textBlock = """
			''
			HTTP/1.0 200 OK
			HTTP/1.0 204 No Content
			HTTP/1.0 200 OK~Content-Type: application/json~~{"isVirtual":
			HTTP/1.0 200 OK~Content-Type: text/html~~<html></html>
			HTTP/1.0 302 Found~Location: /other
			HTTP/1.0 400 Bad Request~Content-Type: application/problem+json~~{"detail": "Parameter 'duration'"}
			HTTP/1.0 500 Internal Server Error
			""", delimiter = '|')
	void answers502WhenTheDownstreamAnswersNonsenseOrAnError(String response) throws IOException {
		ServerSocket server = listen(50);
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
		assertProblem(controller(url(server), 1, LONG, LONG, LONG), 502, "downstream at http://localhost:",
				response.contains("400") ? "answered 400: {\"detail\": \"Parameter 'duration'\"}" : "");
	}

	@Test
	void answers502WhenNobodyListens() throws IOException {
		String url;
		try (ServerSocket server = new ServerSocket(0)) {
			url = url(server);
		}
		assertProblem(controller(url, 1, LONG, LONG, LONG), 502, "refused");
	}

	@Test
	void answers502WhenItsNameIsUnknown() {
		assertProblem(controller("http://downstream.invalid:8080", 1, LONG, LONG, LONG), 502, "downstream.invalid");
	}

	@Test
	void answers504WhenTheDownstreamDoesNotAnswer() throws IOException {
		// Its backlog takes the connection.
		assertProblem(controller(url(listen(50)), 1, LONG, Duration.ofMillis(100), LONG), 504,
				"did not answer in 100 ms", "lab.downstream.response-timeout");
		await().until(() -> this.connections.getTotalStats().getLeased() == 0);
	}

	@Test
	void answers504WhenTheDownstreamAcceptsNoConnection() throws IOException {
		ServerSocket server = listen(1);
		fillBacklog(server);
		String url = "http://127.0.0.1:" + server.getLocalPort();
		assertProblem(controller(url, 1, Duration.ofMillis(100), LONG, LONG), 504, "accepted no connection",
				"lab.downstream.connect-timeout");
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void endsWhenInterrupted(boolean virtual) throws Exception {
		DownstreamController controller = controller(downstream(), 1, LONG, LONG, LONG);
		FutureTask<DownstreamAnswer> calling = new FutureTask<>(() -> controller.downstream(SHORT_WAIT));
		Thread caller = start(calling, virtual);
		await().until(() -> this.connections.getTotalStats().getLeased() == 1);
		FutureTask<DownstreamAnswer> queueing = new FutureTask<>(() -> controller.downstream(SHORT_WAIT));
		Thread queued = start(queueing, virtual);
		await().until(() -> this.connections.getTotalStats().getPending() == 1);
		queued.interrupt();
		assertThatThrownBy(queueing::get).hasCauseInstanceOf(InterruptedException.class);
		caller.interrupt();
		if (virtual) {
			assertThatThrownBy(calling::get).hasCauseInstanceOf(InterruptedException.class);
			this.answered.countDown();
		}
		else {
			// A platform thread that reads from a socket does not notice.
			assertThat(calling).isNotDone();
			this.answered.countDown();
			assertThat(calling.get().downstream()).isNotNull();
		}
		assertThat(controller.downstream(Wait.of(Duration.ofMillis(1))).downstream()).isNotNull();
		// By another clock the deadline of the pool may come a little later.
		await().until(() -> this.connections.getTotalStats().getPending() == 0);
	}

	/** Answers {@code /thread} with its query, once it may. */
	private String downstream() throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
		server.setExecutor((task) -> Thread.ofVirtual().start(task));
		server.createContext("/thread", (exchange) -> {
			try (exchange) {
				this.answered.await();
				byte[] body = "{\"query\": \"%s\"}".formatted(exchange.getRequestURI().getQuery())
					.getBytes(StandardCharsets.UTF_8);
				exchange.getResponseHeaders().set("Content-Type", "application/json");
				exchange.sendResponseHeaders(200, body.length);
				exchange.getResponseBody().write(body);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		});
		server.start();
		this.opened.add(() -> server.stop(0));
		return "http://localhost:" + server.getAddress().getPort();
	}

	private ServerSocket listen(int backlog) throws IOException {
		ServerSocket server = new ServerSocket(0, backlog, InetAddress.getByName("127.0.0.1"));
		this.opened.add(server);
		return server;
	}

	/** Connects until the kernel does not take any more. */
	private void fillBacklog(ServerSocket server) throws IOException {
		for (int i = 0; i < 100; i++) {
			Socket socket = new Socket();
			this.opened.add(socket);
			try {
				socket.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), 500);
			}
			catch (SocketTimeoutException ex) {
				return;
			}
		}
		throw new AssertionError("The backlog has no end");
	}

	private DownstreamController controller(String url, int maxConnections, Duration connectTimeout,
			Duration responseTimeout, Duration leaseTimeout) {
		DownstreamProperties properties = new DownstreamProperties(url, maxConnections, connectTimeout, responseTimeout,
				leaseTimeout);
		DownstreamConfiguration configuration = new DownstreamConfiguration();
		this.connections = configuration.downstreamConnections(properties);
		CloseableHttpClient client = configuration.downstreamHttpClient(this.connections, properties);
		this.opened.add(client);
		return new DownstreamController(properties, RestClient.builder(), client);
	}

	private static FutureTask<DownstreamAnswer> call(DownstreamController controller, boolean virtual) {
		FutureTask<DownstreamAnswer> call = new FutureTask<>(() -> controller.downstream(SHORT_WAIT));
		start(call, virtual);
		return call;
	}

	private static Thread start(FutureTask<DownstreamAnswer> call, boolean virtual) {
		return virtual ? Thread.ofVirtual().start(call) : Thread.ofPlatform().start(call);
	}

	private static String url(ServerSocket server) {
		return "http://localhost:" + server.getLocalPort();
	}

	private static double meter(SimpleMeterRegistry registry, String state) {
		return registry.get("httpcomponents.httpclient.pool.total.connections").tag("state", state).gauge().value();
	}

	private static void assertProblem(DownstreamController controller, int status, String... detail) {
		ThrowingCallable call = () -> controller.downstream(Wait.of(Duration.ofMillis(1)));
		assertThatThrownBy(call).isInstanceOfSatisfying(DownstreamProblem.class, (problem) -> {
			assertThat(problem.getStatusCode().value()).isEqualTo(status);
			assertThat(problem.getBody().getDetail()).contains(detail);
		});
	}

}
