package shop;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.Statement;
import java.util.Collections;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.catalina.startup.Tomcat;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.tomcat.util.threads.VirtualThreadExecutor;

/** Waits in every way: the service whose thread dumps lie beside this file. */
public class Shop extends HttpServlet {

	private static int port;

	private final Semaphore permit = new Semaphore(1, true);

	private final Object monitor = new Object();

	private final ExecutorService executor = Executors.newFixedThreadPool(3);

	private final HikariDataSource pool = new HikariDataSource();

	private final HttpClient client = HttpClient.newHttpClient();

	private final CloseableHttpClient apache = HttpClients.custom()
		.setConnectionManager(
				PoolingHttpClientConnectionManagerBuilder.create().setMaxConnTotal(3).setMaxConnPerRoute(3).build())
		.build();

	private Shop() {
		this.pool.setJdbcUrl(System.getenv("URL"));
		this.pool.setUsername(System.getenv("USER_NAME"));
		this.pool.setPassword(System.getenv("PASSWORD"));
		this.pool.setMaximumPoolSize(3);
	}

	public static void main(String[] args) throws Exception {
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
		tomcat.setPort(0);
		var context = tomcat.addContext("", null);
		Tomcat.addServlet(context, "shop", new Shop());
		context.addServletMappingDecoded("/*", "shop");
		if (args[0].equals("virtual")) {
			tomcat.getConnector().getProtocolHandler().setExecutor(new VirtualThreadExecutor("tomcat-handler-"));
		}
		tomcat.start();
		port = tomcat.getConnector().getLocalPort();
		System.out.println("port " + port);
		tomcat.getServer().await();
	}

	@Override
	protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
		URI back = URI.create("http://127.0.0.1:" + port + "/sleep");
		try {
			switch (request.getRequestURI()) {
				case "/sleep" -> Thread.sleep(300);
				case "/query" -> query();
				case "/permit" -> permit();
				case "/hold" -> hold();
				case "/monitor" -> monitor();
				case "/tasks" -> this.executor.invokeAll(Collections.nCopies(2, Shop::task));
				case "/apache" -> this.apache.execute(new HttpGet(back), (answer) -> null);
				case "/http-client" -> this.client.send(HttpRequest.newBuilder(back).build(),
						HttpResponse.BodyHandlers.discarding());
				case "/url-connection" -> ((HttpURLConnection) back.toURL().openConnection()).getResponseCode();
				case "/compute" -> compute();
			}
		}
		catch (Exception ex) {
			throw new IOException(ex);
		}
	}

	private void query() throws Exception {
		try (Connection connection = this.pool.getConnection(); Statement statement = connection.createStatement()) {
			statement.execute("select sleep(0.1)");
		}
	}

	private void permit() throws Exception {
		this.permit.acquire();
		try {
			Thread.sleep(100);
		}
		finally {
			this.permit.release();
		}
	}

	private void hold() throws Exception {
		try (Connection connection = this.pool.getConnection()) {
			permit();
		}
	}

	private void monitor() throws Exception {
		synchronized (this.monitor) {
			Thread.sleep(100);
		}
	}

	private static Void task() throws InterruptedException {
		Thread.sleep(150);
		return null;
	}

	private static void compute() throws Exception {
		MessageDigest digest = MessageDigest.getInstance("SHA-256");
		byte[] bytes = new byte[32];
		for (int i = 0; i < 500_000; i++) {
			bytes = digest.digest(bytes);
		}
	}

}
