package lab.virtualthreads;

import java.lang.management.ManagementFactory;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The bottlenecks that the tests of vtlab plant hold what they should for as long as they should, alone and under load.
 */
@Tag("context")
class PlantedTests {

	private static final double LIVE_SHARE = 0.2;

	private static LabApp app;

	@BeforeAll
	static void start() {
		app = LabApp.start(Variant.VIRTUAL,
				MariaDb.shared()
					.arguments("--spring.datasource.hikari.maximum-pool-size=2", "--lab.planted.connection=on",
							"--lab.planted.live-share=" + LIVE_SHARE, "--lab.planted.shape=0.5"));
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	@ParameterizedTest
	@CsvSource({ "row?duration=100ms, 100", "lock?duration=100ms, 100", "wait?duration=100ms, 100",
			"computation?iterations=1000, 0" })
	void holdsAConnectionForAsLongAsItTakesAlone(String path, long milliseconds) {
		double held = held();
		assertThat(app.get("/planted/connection/" + path).statusCode()).isEqualTo(200);
		// HikariCP counts whole milliseconds.
		assertThat(held() - held).isGreaterThanOrEqualTo((milliseconds - 1) / 1000.0);
	}

	/** Both connections are taken, and one request is served at a time. */
	@ParameterizedTest
	@ValueSource(strings = { "row", "lock" })
	void servesOneAtATimeWithinThePool(String path) {
		double held = held();
		// So long that all are sent before the first is served.
		Duration taken = together(4, "/planted/connection/" + path + "?duration=500ms");
		assertThat(taken).isGreaterThanOrEqualTo(Duration.ofMillis(2000));
		// One waits for the other's lock with its connection, but for the last.
		assertThat(held() - held).isGreaterThanOrEqualTo(3.0);
	}

	@Test
	void waitsOnceForEachRequestInFlight() {
		Duration alone = together(1, "/planted/connection/wait?duration=100ms");
		assertThat(alone).isGreaterThanOrEqualTo(Duration.ofMillis(100));
		// The first may find none of the others yet.
		assertThat(together(6, "/planted/connection/wait?duration=100ms")).isGreaterThan(Duration.ofMillis(600));
	}

	@Test
	void keepsItsShareOfTheHeapAlive() {
		System.gc();
		double before = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
		assertThat(before).isGreaterThan(LIVE_SHARE * Runtime.getRuntime().maxMemory());
		assertThat(app.get("/planted/memory/replace?kilobytes=65536").statusCode()).isEqualTo(200);
		System.gc();
		double after = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
		assertThat(after).as("what was replaced is gone").isLessThan(before + 32 * 1024 * 1024);
	}

	@Test
	void needsMemoryForAsLongAsItWaits() {
		assertThat(together(2, "/planted/memory/hold?kilobytes=1024&duration=100ms"))
			.isGreaterThanOrEqualTo(Duration.ofMillis(100));
	}

	@Test
	void answersAShareInAnotherShape() {
		long others = IntStream.range(0, 200)
			.mapToObj((request) -> app.get("/planted/shape?duration=0s").body())
			.filter((body) -> body.contains("problem"))
			.count();
		// Seven standard deviations of a fair coin.
		assertThat(others).isBetween(50L, 150L);
	}

	private static double held() {
		return app.metric("hikaricp_connections_usage_seconds_sum");
	}

	/** Returns how long so many requests take that are sent at once. */
	private static Duration together(int requests, String path) {
		long start = System.nanoTime();
		List<CompletableFuture<HttpResponse<String>>> responses = IntStream.range(0, requests)
			.mapToObj((request) -> app.getAsync(path))
			.toList();
		assertThat(responses).allSatisfy((response) -> assertThat(response.join().statusCode()).isEqualTo(200));
		return Duration.ofNanos(System.nanoTime() - start);
	}

}
