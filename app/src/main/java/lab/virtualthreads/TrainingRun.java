package lab.virtualthreads;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.util.StringUtils;

/**
 * The training of an ahead-of-time cache. It serves the workloads that need nothing beside the app (but
 * {@code /locked-out}, which waits for time-outs) on platform threads, then on virtual ones, and ends. So one cache
 * suits both alike, and neither has an advantage. A reactive server starts with it, too, but its own classes are not in
 * it.
 *
 * <pre>java -XX:AOTCacheOutput=app.aot -cp app.jar lab.virtualthreads.TrainingRun</pre>
 */
final class TrainingRun {

	/** The number of calls, enough for the JIT compiler's profiles, which the cache holds too. */
	private static final int CALLS = 2_000;

	private static final List<String> PATHS = List.of("/thread?duration=0s", "/cpu?iterations=100",
			"/compute?duration=0s", "/mixed?duration=0s&iterations=10", "/fan-out?tasks=2&iterations=10&executor=pool8",
			"/fan-out?tasks=2&iterations=10&executor=virtual", "/run/cpu?tasks=2&limit=100&executor=bounded",
			"/run/cpu?tasks=2&limit=100&executor=virtual", "/run/io?tasks=2&executor=bounded",
			"/run/io?tasks=2&executor=virtual", "/pinned?duration=0s&lock=monitor",
			"/pinned?duration=0s&lock=reentrant");

	private TrainingRun() {
	}

	public static void main(String[] args) throws IOException, InterruptedException {
		train(CALLS);
	}

	static void train(int calls, String... arguments) throws IOException, InterruptedException {
		for (boolean virtual : new boolean[] { false, true }) {
			String[] all = StringUtils.concatenateStringArrays(arguments,
					new String[] { "--server.port=0", "--management.server.port=0", "--server.address=127.0.0.1",
							"--management.server.address=127.0.0.1", "--spring.threads.virtual.enabled=" + virtual });
			try (ConfigurableApplicationContext context = new SpringApplication(LabApplication.class).run(all);
					HttpClient client = HttpClient.newHttpClient()) {
				String app = "http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port");
				String management = "http://127.0.0.1:" + context.getEnvironment().getProperty("local.management.port");
				for (int call = 0; call < calls; call++) {
					for (String path : PATHS) {
						get(client, app + path);
					}
					if (call % 100 == 0) {
						get(client, management + "/actuator/prometheus");
						get(client, management + "/actuator/health/readiness");
					}
				}
			}
		}
	}

	private static void get(HttpClient client, String url) throws IOException, InterruptedException {
		HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
		int status = client.send(request, BodyHandlers.discarding()).statusCode();
		if (status != 200) {
			throw new IllegalStateException("training request " + url + " answered " + status);
		}
	}

}
