package lab.virtualthreads;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import vtlab.testing.ScrapedMetrics;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.web.server.WebFilter;

import static org.awaitility.Awaitility.await;

/**
 * The real application on real ports, and a client of it. One at a time: Tomcat's meters are of the whole process.
 */
final class LabApp implements AutoCloseable {

	/** No answer takes nearly as long to begin; without a limit a service that hangs would stop the tests for ever. */
	static final Duration LONGEST_WAIT = Duration.ofMinutes(2);

	private final HttpClient client = HttpClient.newHttpClient();

	private final ConfigurableApplicationContext context;

	private LabApp(ConfigurableApplicationContext context) {
		this.context = context;
	}

	static LabApp start(Variant variant, String... arguments) {
		List<String> all = new ArrayList<>(List.of("--spring.threads.virtual.enabled=" + variant.isVirtual()));
		all.addAll(Arrays.asList(arguments));
		return start(all.toArray(String[]::new));
	}

	/** Starts the application without a variant: the arguments may make one. */
	static LabApp start(String... arguments) {
		List<String> all = new ArrayList<>(List.of("--server.port=0", "--management.server.port=0"));
		all.addAll(Arrays.asList(arguments));
		SpringApplication application = new SpringApplication(LabApplication.class, RequestThreads.class);
		return new LabApp(application.run(all.toArray(String[]::new)));
	}

	int port() {
		return this.context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	<T> T bean(String name, Class<T> type) {
		return this.context.getBean(name, type);
	}

	/** Stops requests from now on in front of their workload, in flight, until the gate opens. */
	Gate shutGate() {
		Gate gate = new Gate();
		bean(RequestThreads.class).gate = gate.opened;
		return gate;
	}

	HttpResponse<String> get(String path) {
		return send(request("local.server.port", path));
	}

	HttpResponse<String> management(String path) {
		return send(request("local.management.port", path));
	}

	CompletableFuture<HttpResponse<String>> getAsync(String path) {
		return this.client.sendAsync(request("local.server.port", path).build(), BodyHandlers.ofString());
	}

	HttpRequest.Builder request(String path) {
		return request("local.server.port", path);
	}

	private HttpRequest.Builder request(String port, String path) {
		return HttpRequest
			.newBuilder(URI.create("http://localhost:" + this.context.getEnvironment().getProperty(port) + path))
			.timeout(LONGEST_WAIT);
	}

	HttpResponse<String> send(HttpRequest.Builder request) {
		try {
			return this.client.send(request.build(), BodyHandlers.ofString());
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError(ex);
		}
	}

	/** Sends a path that no client would, and returns the whole response as text. */
	String getMalformed(String path) {
		try (Socket socket = new Socket("localhost", port())) {
			socket.setSoTimeout(Math.toIntExact(LONGEST_WAIT.toMillis()));
			// Version 1.0, so that the response is neither chunked nor kept alive.
			socket.getOutputStream().write(("GET " + path + " HTTP/1.0\r\n\r\n").getBytes(StandardCharsets.UTF_8));
			return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

	static JsonNode json(HttpResponse<String> response) {
		return JsonMapper.shared().readTree(response.body());
	}

	/** Returns all samples of a scrape, without the comments. */
	List<String> scrape() {
		return management("/actuator/prometheus").body().lines().filter((line) -> !line.startsWith("#")).toList();
	}

	/** Returns the sum over the series of that name with all of these labels; NaN when there is none. */
	double metric(String name, String... labels) {
		return ScrapedMetrics.sum(scrape(), name, labels);
	}

	double inFlight() {
		double count = metric("http_server_requests_active_seconds_count");
		// The first request brings the series with it.
		return Double.isNaN(count) ? 0 : count;
	}

	/** Closes the application in another thread; returns when it takes no requests any more. */
	CompletableFuture<Void> beginToClose() {
		int port = port();
		CompletableFuture<Void> closed = CompletableFuture.runAsync(this.context::close);
		await().until(() -> {
			try (Socket socket = new Socket("localhost", port)) {
				return false;
			}
			catch (ConnectException ex) {
				return true;
			}
		});
		return closed;
	}

	@Override
	public void close() {
		this.context.close();
		this.client.close();
		forgetTomcat();
	}

	/** Removes the MBeans that Tomcat leaves behind: the meters of the next one would add them up. */
	static void forgetTomcat() {
		MBeanServer server = ManagementFactory.getPlatformMBeanServer();
		try {
			for (ObjectName name : server.queryNames(new ObjectName("Tomcat*:*"), null)) {
				server.unregisterMBean(name);
			}
		}
		catch (JMException ex) {
			throw new AssertionError(ex);
		}
	}

	/** A gate that is open after a test at the latest, so that no request waits for what it held. */
	static final class Gate implements AutoCloseable {

		private final CountDownLatch opened = new CountDownLatch(1);

		void open() {
			this.opened.countDown();
		}

		@Override
		public void close() {
			open();
		}

	}

	/** Knows which thread has which request, so that a test can interrupt it, and holds requests for a test. */
	static class RequestThreads {

		volatile CountDownLatch gate = new CountDownLatch(0);

		final Map<String, Thread> byQuery = new ConcurrentHashMap<>();

		/** The thread that served the last request for the health. */
		volatile Thread ofHealth;

		@Bean
		HealthIndicator rememberHealthThread() {
			return () -> {
				this.ofHealth = Thread.currentThread();
				return Health.up().build();
			};
		}

		@Bean
		FilterRegistrationBean<Filter> rememberThread() {
			return new FilterRegistrationBean<>((request, response, chain) -> {
				String query = String.valueOf(((HttpServletRequest) request).getQueryString());
				this.byQuery.put(query, Thread.currentThread());
				try {
					this.gate.await();
				}
				catch (InterruptedException ex) {
					// For the workload to answer.
					Thread.currentThread().interrupt();
				}
				try {
					chain.doFilter(request, response);
				}
				finally {
					this.byQuery.remove(query);
				}
			});
		}

		/** Holds requests in the variant reactive, where the management port has the filters of its parent. */
		@Bean
		WebFilter holdRequest() {
			return (exchange, chain) -> {
				CountDownLatch gate = this.gate;
				if (gate.getCount() == 0 || exchange.getRequest().getURI().getPath().startsWith("/actuator")) {
					return chain.filter(exchange);
				}
				// The event loop does not wait.
				return Mono.fromCallable(() -> {
					gate.await();
					return gate;
				}).subscribeOn(Schedulers.boundedElastic()).flatMap((opened) -> chain.filter(exchange));
			};
		}

	}

}
