package lab.virtualthreads;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import org.springframework.jdbc.core.JdbcTemplate;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The workloads {@code /stress} query a real database through a pool that its meters show, with every driver and on
 * both kinds of threads.
 */
@Tag("context")
@ParameterizedClass
@MethodSource("variantsAndDrivers")
class DatabaseTests {

	private static final int POOL = 2;

	private static MariaDb database;

	private static LabApp app;

	@Parameter(0)
	private Variant variant;

	@Parameter(1)
	private String driver;

	static List<Arguments> variantsAndDrivers() throws IOException {
		try (Stream<Path> jars = Files.list(Path.of("target/drivers"))) {
			return jars.map((jar) -> jar.getFileName().toString().replaceAll("mysql-connector-j-(.*)\\.jar", "$1"))
				.sorted()
				.flatMap((driver) -> Stream.of(Variant.values()).map((variant) -> Arguments.of(variant, driver)))
				.toList();
		}
	}

	@BeforeAll
	static void startDatabase() {
		database = MariaDb.shared();
	}

	@BeforeParameterizedClassInvocation
	static void start(Variant variant, String driver) {
		app = LabApp.start(variant, database.arguments("--lab.database.driver=" + driver,
				"--spring.datasource.hikari.maximum-pool-size=" + POOL));
	}

	@AfterParameterizedClassInvocation
	static void stop() {
		app.close();
	}

	@Test
	void useTheDriverThatIsAskedFor() throws SQLException {
		try (Connection connection = app.bean(DataSource.class).getConnection()) {
			assertThat(connection.getMetaData().getDriverVersion())
				.startsWith("mysql-connector-j-" + this.driver + " ");
		}
	}

	@ParameterizedTest
	@CsvSource({ "/stress/nosleep, 1", "/stress/nosleep?id=1, 1", "/stress/nosleep?id=100, 100",
			"/stress/sleep?duration=0s, 1", "/stress/sleep?id=42&duration=10ms, 42" })
	void answerTheMemberWithoutItsPassword(String path, long id) {
		HttpResponse<String> response = app.get(path);
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(response.headers().firstValue("Content-Type")).contains("application/json");
		JsonNode member = json(response);
		assertThat(member.propertyNames()).containsExactly("id", "name", "account");
		assertThat(member.get("id").longValue()).isEqualTo(id);
		JdbcTemplate data = app.bean(JdbcTemplate.class);
		assertThat(member.get("name").stringValue())
			.isEqualTo(data.queryForObject("select name from lab_member where id = ?", String.class, id));
		assertThat(member.get("account").stringValue())
			.isEqualTo(data.queryForObject("select account from lab_member where id = ?", String.class, id));
	}

	@Test
	void answerDifferentMembers() {
		List<String> members = IntStream.of(1, 2, 50, 99, 100)
			.mapToObj((id) -> json(app.get("/stress/nosleep?id=" + id)).get("account").stringValue())
			.toList();
		assertThat(members).doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@CsvSource({ "/stress/sleep, 1000", "/stress/sleep?duration=150, 150" })
	void waitInTheDatabase(String path, long milliseconds) {
		double held = app.metric("hikaricp_connections_usage_seconds_sum");
		long start = System.nanoTime();
		assertThat(app.get(path).statusCode()).isEqualTo(200);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(milliseconds));
		// HikariCP counts whole milliseconds.
		assertThat(app.metric("hikaricp_connections_usage_seconds_sum") - held)
			.isGreaterThanOrEqualTo((milliseconds - 1) / 1000.0);
	}

	@Test
	void answerNotFoundWhereTheTableHasAGap() {
		JdbcTemplate data = app.bean(JdbcTemplate.class);
		data.update("update lab_member set id = -7 where id = 7");
		try {
			HttpResponse<String> response = app.get("/stress/nosleep?id=7");
			assertThat(response.statusCode()).isEqualTo(404);
			assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
		}
		finally {
			data.update("update lab_member set id = 7 where id = -7");
		}
	}

	@Test
	void showThePoolAndItsQueue() throws SQLException {
		int users = 5;
		assertThat(app.metric("hikaricp_connections_max")).isEqualTo(POOL);
		assertThat(app.metric("hikaricp_connections_min")).isEqualTo(POOL);
		await().until(() -> app.metric("hikaricp_connections_active") == 0);
		double uses = app.metric("hikaricp_connections_usage_seconds_count");
		double held = app.metric("hikaricp_connections_usage_seconds_sum");
		double waited = app.metric("hikaricp_connections_acquire_seconds_sum");
		List<CompletableFuture<HttpResponse<String>>> responses;
		// The test has all connections until all users queue, however long that takes.
		try (Connection first = app.bean(DataSource.class).getConnection();
				Connection second = app.bean(DataSource.class).getConnection()) {
			responses = IntStream.range(0, users)
				.mapToObj((user) -> app.getAsync("/stress/sleep?duration=500ms"))
				.toList();
			await().until(() -> app.metric("hikaricp_connections_active") == POOL
					&& app.metric("hikaricp_connections_pending") == users);
		}
		assertThat(responses).allSatisfy((response) -> assertThat(response.join().statusCode()).isEqualTo(200));
		await().until(() -> app.metric("hikaricp_connections_active") == 0);
		assertThat(app.metric("hikaricp_connections_pending")).isZero();
		assertThat(app.metric("hikaricp_connections_usage_seconds_count") - uses).isEqualTo(POOL + users);
		assertThat(app.metric("hikaricp_connections_usage_seconds_sum") - held).isGreaterThanOrEqualTo(users * 0.499);
		// At least: two waited for one use before theirs, one for two.
		assertThat(app.metric("hikaricp_connections_acquire_seconds_sum") - waited)
			.isGreaterThanOrEqualTo((1 + 1 + 2) * 0.499);
	}

	@Test
	void keepNoAccountButItsHash() {
		List<String> accounts = app.bean(JdbcTemplate.class)
			.queryForList("select account from lab_member", String.class);
		assertThat(accounts).hasSize(100).doesNotHaveDuplicates().allMatch((hash) -> hash.matches("[0-9a-f]{64}"));
	}

	@Test
	void keepNoPasswordButItsHash() {
		List<String> hashes = app.bean(JdbcTemplate.class)
			.queryForList("select password_hash from lab_member", String.class);
		assertThat(hashes).hasSize(100)
			.doesNotHaveDuplicates()
			.allMatch((hash) -> hash.matches("\\$2b\\$10\\$[./A-Za-z0-9]{53}"));
	}

	/** The query would borrow a connection of the pool that is measured. */
	@ParameterizedTest
	@ValueSource(strings = { "/actuator/health", "/actuator/health/readiness" })
	void areNotAskedForTheirHealth(String path) {
		double uses = app.metric("hikaricp_connections_usage_seconds_count");
		assertThat(app.management(path).statusCode()).isEqualTo(200);
		assertThat(app.metric("hikaricp_connections_usage_seconds_count")).isEqualTo(uses);
	}

}
