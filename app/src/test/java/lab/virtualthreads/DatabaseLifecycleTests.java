package lab.virtualthreads;

import java.net.ConnectException;
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

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.RepeatedTest;
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
 * The database that is not there, not yet there, no longer there, or shared.
 */
@ExtendWith(OutputCaptureExtension.class)
class DatabaseLifecycleTests {

	private static final String PASSWORDS = "select count(distinct password_hash) from lab_member";

	private static MariaDb database;

	@BeforeAll
	static void startDatabase() {
		database = MariaDb.start("lifecycle");
	}

	@AfterAll
	static void stopDatabase() {
		database.close();
	}

	@ParameterizedTest
	@EnumSource
	void saysWhatToSetWhereThereIsNone(Variant variant) {
		try (LabApp app = LabApp.start(variant)) {
			for (String path : List.of("/stress/nosleep", "/stress/sleep?id=5")) {
				assertUnavailable(app.get(path), "SPRING_DATASOURCE_URL");
			}
			assertThat(app.get("/stress/sleep?duration=soon").statusCode()).isEqualTo(400);
			assertThat(app.metric("hikaricp_connections_max")).isNaN();
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
		}
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
		try (MariaDb late = MariaDb.create("late")) {
			CompletableFuture<LabApp> start = CompletableFuture
				.supplyAsync(() -> LabApp.start(Variant.VIRTUAL, late.arguments()));
			// Tried and refused by now, or not yet tried on a slow machine: either way it has not given up.
			assertThatThrownBy(() -> start.get(5, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
			late.start();
			try (LabApp app = start.join()) {
				assertThat(app.get("/stress/nosleep").statusCode()).isEqualTo(200);
			}
		}
	}

	@Test
	void endsWhereTheDatabaseDoesNotComeUp(CapturedOutput output) {
		MariaDb never = MariaDb.create("never");
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM,
				never.arguments("--spring.datasource.hikari.initialization-fail-timeout=1000")))
			.hasRootCauseInstanceOf(ConnectException.class);
		assertThat(output).contains("APPLICATION FAILED TO START", "No connection to the database",
				"spring.datasource.url");
	}

	@ParameterizedTest
	@ValueSource(strings = { "5.1.49", "", "../drivers/mysql-connector-j-9.7.0" })
	void refusesAnUnknownDriverAndListsTheKnown(String driver, CapturedOutput output) {
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, database.arguments("--lab.database.driver=" + driver)))
			.rootCause()
			.hasMessageContaining("lab.database.driver");
		assertThat(output).contains("Invalid value '" + driver + "'")
			.containsPattern("/drivers has 8\\.[0-9.]+, 9\\.[0-9.]+");
	}

	@Test
	void saysWhereThereAreNoDrivers(CapturedOutput output) {
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--spring.datasource.url=jdbc:mysql://127.0.0.1/test",
				"--lab.database.drivers=target/none"))
			.isInstanceOf(Exception.class);
		assertThat(output).contains("target/none has no mysql-connector-j-*.jar");
	}

	@ParameterizedTest
	@ValueSource(strings = { "jdbc:mariadb://127.0.0.1/test", "jdbc:postgresql://127.0.0.1/test",
			"mysql://127.0.0.1/test", "jdbc:mariadb://127.0.0.1/test?user=root&password=secret-word", "" })
	void refusesOtherDatabases(String url, CapturedOutput output) {
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--spring.datasource.url=" + url))
			.isInstanceOf(Exception.class);
		assertThat(output).contains("APPLICATION FAILED TO START", "spring.datasource.url", "must begin with jdbc:mysql:")
			.doesNotContain("secret-word");
	}

	@ParameterizedTest
	@ValueSource(strings = { "0s", "-1s" })
	void refusesABadBound(String duration) {
		assertThatThrownBy(() -> LabApp.start(Variant.PLATFORM, "--lab.database.max-duration=" + duration)).rootCause()
			.hasMessageContaining("lab.database.max-duration");
	}

	@Test
	void takesTheBoundThatItIsGiven() {
		try (LabApp app = LabApp.start(Variant.PLATFORM, database.arguments("--lab.database.max-duration=20ms"))) {
			assertThat(app.get("/stress/sleep?duration=20ms").statusCode()).isEqualTo(200);
			assertThat(app.get("/stress/sleep?duration=21ms").body()).contains("from 0s to 20ms");
		}
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
	@RepeatedTest(5)
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
				assertThat(filled).succeedsWithin(Duration.ofSeconds(30));
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
