package vtlab.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import vtlab.agent.page.Page;

/**
 * The server of the page at {@code /metrics}, on a platform thread: on virtual threads a scrape would wait for a
 * carrier behind the service's requests.
 */
final class PageServer {

	private final HttpServer server;

	/**
	 * Creates a server that does not answer yet.
	 * @throws IOException where the port is taken
	 */
	PageServer(Options options, Supplier<Page> pages) throws IOException {
		this.server = HttpServer.create(options.address(), 0);
		this.server.createContext("/", (exchange) -> {
			try (exchange) {
				answer(exchange, pages);
			}
		});
		this.server.setExecutor(Executors.newSingleThreadExecutor(OwnThreads::http));
	}

	/**
	 * Starts the server. Its threads take after the calling one: they are in its group, and daemons where it is one.
	 */
	void start() {
		this.server.start();
	}

	int port() {
		return this.server.getAddress().getPort();
	}

	private static void answer(HttpExchange exchange, Supplier<Page> pages) throws IOException {
		boolean asksForThePage = exchange.getRequestURI().getPath().equals("/metrics")
				&& exchange.getRequestMethod().equals("GET");
		byte[] text = (asksForThePage ? pages.get().text() : "GET /metrics\n").getBytes(StandardCharsets.UTF_8);
		exchange.getResponseHeaders()
			.set("Content-Type", asksForThePage ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain");
		exchange.sendResponseHeaders(asksForThePage ? 200 : 404, text.length);
		try (OutputStream body = exchange.getResponseBody()) {
			body.write(text);
		}
	}

}
