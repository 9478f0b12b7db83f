package lab.virtualthreads;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * The application waits for a database that is not yet up, answers 503 without a connection to it, says why it does not
 * start without it, and shares it with other instances.
 */
@Tag("context")
@ExtendWith(OutputCaptureExtension.class)
class DatabaseLifecycleTests {

	private static final String PASSWORDS = "select count(distinct password_hash) from lab_member";

	private static MariaDb database;

	@BeforeAll
	static void startDatabase() {
		database = MariaDb.shared();
	}

	@ParameterizedTest
	@EnumSource
	void givesUpWhereNoConnectionComesFreeInTime(Variant variant) throws SQLException {
		try (LabApp app = LabApp.start(variant, database.arguments("--spring.datasource.hikari.maximum-pool-size=1",
				"--spring.datasource.hikari.connection-timeout=250"))) {
			try (Connection only = app.bean(DataSource.class).getConnection()) {
				assertUnavailable(app.get("/stress/nosleep"), "timed out");
				assertThat(app.metric("hikaricp_connections_timeout_total")).isEqualTo(1);
				assertThat(only.isValid(0)).isTrue();
			}
			assertThat(app.get("/stress/nosleep").statusCode()).isEqualTo(200);
		}
	}

	@ParameterizedTest
	@EnumSource
	void answersProblemsWhileTheDatabaseIsDown(Variant variant) {
		try (LabApp app = LabApp.start(variant,
				database.arguments("--spring.datasource.hikari.connection-timeout=500"))) {
			CompletableFuture<HttpResponse<String>> running = app.getAsync("/stress/sleep?duration=60s");
			await().until(() -> app.metric("hikaricp_connections_active") == 1);
			database.stop();
			try {
				assertUnavailable(running.join(), "The database did not answer");
				assertUnavailable(app.get("/stress/nosleep"), "The database did not answer");
			}
			finally {
				database.start();
			}
			await().untilAsserted(() -> assertThat(app.get("/stress/nosleep").statusCode()).isEqualTo(200));
		}
	}

	@Test
	void waitsForADatabaseThatComesUpLater() throws Exception {
		database.stop();
		CompletableFuture<LabApp> start;
		try {
			start = CompletableFuture.supplyAsync(() -> LabApp.start(Variant.VIRTUAL, database.arguments()));
			// Tried and refused by now, or not yet tried on a slow machine: either way it has not given up.
			assertThatThrownBy(() -> start.get(3, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
		}
		finally {
			database.start();
		}
		try (LabApp app = start.join()) {
			assertThat(app.get("/stress/nosleep").statusCode()).isEqualTo(200);
		}
	}

	@Test
	void endsWhereTheDatabaseDoesNotComeUp(CapturedOutput output) throws IOException {
		int port;
		try (ServerSocket socket = new ServerSocket(0)) {
			port = socket.getLocalPort();
		}
		String url = "jdbc:mysql://127.0.0.1:" + port + "/test";
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--spring.datasource.url=" + url,
				"--lab.database.drivers=target/drivers", "--spring.datasource.hikari.initialization-fail-timeout=1000"))
			.hasRootCauseInstanceOf(ConnectException.class);
		assertThat(output).contains("APPLICATION FAILED TO START", "No connection to the database",
				"spring.datasource.url");
	}

	@Test
	void saysWhyItDoesNotStartWithAnotherDatabase(CapturedOutput output) {
		String url = "jdbc:mariadb://127.0.0.1/test";
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--spring.datasource.url=" + url))
			.isInstanceOf(Exception.class);
		assertThat(output).contains("APPLICATION FAILED TO START", "spring.datasource.url",
				"must begin with jdbc:mysql:");
	}

	@Test
	void isSharedByInstancesThatStartAtOnce() {
		String url = "--spring.datasource.url=" + database.url("shared?createDatabaseIfNotExist=true");
		List<CompletableFuture<LabApp>> starts = Stream.of(Variant.values())
			.map((variant) -> CompletableFuture.supplyAsync(() -> LabApp.start(variant, url,
					"--spring.datasource.username=root", "--lab.database.drivers=target/drivers")))
			.toList();
		for (CompletableFuture<LabApp> start : starts) {
			try (LabApp app = start.join()) {
				assertThat(json(app.get("/stress/nosleep?id=100")).get("id").longValue()).isEqualTo(100);
				assertThat(app.bean(JdbcTemplate.class).queryForObject(PASSWORDS, Long.class)).isEqualTo(100);
			}
		}
	}

	/** The scripts alone, so that more of them really meet. */
	@RepeatedTest(3)
	void isFilledByManyAtOnce() throws Exception {
		ResourceDatabasePopulator scripts = new ResourceDatabasePopulator(new ClassPathResource("schema.sql"),
				new ClassPathResource("data.sql"));
		try (LabApp app = LabApp.start(Variant.PLATFORM, database.arguments());
				ExecutorService instances = Executors.newFixedThreadPool(10)) {
			DataSource pool = app.bean(DataSource.class);
			JdbcTemplate data = app.bean(JdbcTemplate.class);
			data.execute("drop table lab_member");
			Callable<Void> fill = () -> {
				scripts.execute(pool);
				return null;
			};
			for (Future<Void> filled : instances.invokeAll(Stream.generate(() -> fill).limit(20).toList())) {
				assertThat(filled).succeedsWithin(Duration.ofMinutes(5));
			}
			assertThat(data.queryForObject("select count(*) from lab_member", Long.class)).isEqualTo(100);
			assertThat(data.queryForObject(PASSWORDS, Long.class)).isEqualTo(100);
		}
	}

	private static void assertUnavailable(HttpResponse<String> response, String detail) {
		assertThat(response.statusCode()).isEqualTo(503);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
		assertThat(json(response).get("detail").stringValue()).contains(detail);
	}

}
