package lab.virtualthreads;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

/**
 * Waiting with a lock, being locked out by those who do, and the places where it happens.
 */
@ParameterizedClass
@EnumSource
class PinnedTests {

	private static final boolean MONITORS_PIN = Runtime.version().feature() < 24;

	private static LabApp app;

	@Parameter
	private Variant variant;

	@BeforeParameterizedClassInvocation
	static void start(Variant variant) {
		app = LabApp.start(variant);
	}

	@AfterParameterizedClassInvocation
	static void stop() {
		app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "monitor", "reentrant" })
	void waitsWithALock(String lock) {
		long start = System.nanoTime();
		HttpResponse<String> response = app.get("/pinned?duration=100ms&lock=" + lock);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(json(response).propertyNames()).containsExactly("isVirtual", "lock");
		assertThat(json(response).get("isVirtual").booleanValue()).isEqualTo(this.variant.isVirtual());
		assertThat(json(response).get("lock").stringValue()).isEqualTo(lock);
	}

	@ParameterizedTest
	@CsvSource(nullValues = "null", textBlock = """
			/pinned?duration=1ms                  | lock     | null
			/pinned?lock=monitor                  | duration | null
			/pinned?duration=1ms&lock=MONITOR     | lock     | MONITOR
			/pinned?duration=1ms&lock=stamped     | lock     | stamped
			/pinned?duration=61s&lock=monitor     | duration | 61s
			/pinned?duration=1ms&lock=monitor&n=1 | n        | 1
			/locked-out                           | timeout  | null
			/locked-out?timeout=999ms             | timeout  | 999ms
			/locked-out?timeout=11s               | timeout  | 11s
			/locked-out?timeout=1s&n=1            | n        | 1
			""", delimiter = '|')
	void namesTheParameterAndWhatIsAllowed(String path, String parameter, String value) {
		JsonNode problem = json(app.get(path));
		assertThat(problem.get("status").intValue()).isEqualTo(400);
		assertThat(problem.get("parameter").stringValue()).isEqualTo(parameter);
		assertThat(problem.get("value").stringValue(null)).isEqualTo(value);
	}

	@Test
	void locksOutOnlyWhereMonitorsPin() {
		for (int i = 0; i < 3; i++) {
			HttpResponse<String> response = app.get("/locked-out?timeout=10s");
			assertThat(response.statusCode()).isEqualTo(200);
			JsonNode answer = json(response);
			assertThat(answer.get("finished").booleanValue()).isEqualTo(!MONITORS_PIN);
			assertThat(answer.get("acquired").intValue())
				.isEqualTo(MONITORS_PIN ? 0 : answer.get("threads").intValue());
			assertThat(answer.get("waiting").intValue()).isGreaterThanOrEqualTo(answer.get("carriers").intValue());
			// Nothing is left behind: the variant's threads go on.
			assertThat(app.get("/thread?duration=1ms").statusCode()).isEqualTo(200);
		}
	}

	@Test
	void locksOutOneAtATimeAndSaysWhenTheCarriersAreBusy() throws Exception {
		assumeFalse(this.variant.isVirtual(), "No request would be served while others have the carriers");
		CountDownLatch pinned = new CountDownLatch(Runtime.getRuntime().availableProcessors());
		CountDownLatch released = new CountDownLatch(1);
		CompletableFuture<HttpResponse<String>> first;
		try {
			for (long i = pinned.getCount(); i > 0; i--) {
				Thread.ofVirtual().start(() -> Pinning.until(pinned, released));
			}
			pinned.await();
			first = app.getAsync("/locked-out?timeout=1s");
			await().until(PinnedTests::isLockedOutRunning);
			assertThat(app.get("/locked-out?timeout=2s").statusCode()).isEqualTo(409);
			assertThat(isLockedOutRunning()).isTrue();
			// By then its time-out has begun, and it passes without a carrier.
			await().until(() -> lockedOut().anyMatch((thread) -> thread.getState() == Thread.State.WAITING));
			Thread.sleep(1000);
		}
		finally {
			released.countDown();
		}
		assertThat(first.get().statusCode()).isEqualTo(503);
		assertThat(json(first.get()).get("detail").stringValue()).contains("0 of ");
		assertThat(app.get("/locked-out?timeout=10s").statusCode()).isEqualTo(200);
	}

	@Test
	void countsPinnedThreadsByClassAndLine() throws Exception {
		String line = String.valueOf(lineOf("Thread.sleep(5)", "Pinning.java"));
		// Flight Recorder delivers once a second. Again and again, as PinnedPlacesTests says why.
		await().untilAsserted(() -> {
			Thread.ofVirtual().start(Pinning::fiveMilliseconds).join();
			assertThat(app.metric("jvm_threads_virtual_pinned_at_total",
					"class=\"lab.virtualthreads.Pinning$Sleeper\"", "line=\"" + line + "\""))
				.isGreaterThanOrEqualTo(1);
		});
		if (MONITORS_PIN && this.variant.isVirtual()) {
			await().untilAsserted(() -> {
				app.get("/pinned?duration=5ms&lock=monitor");
				assertThat(app.metric("jvm_threads_virtual_pinned_at_total",
						"class=\"lab.virtualthreads.pinned.PinnedController\""))
					.isGreaterThanOrEqualTo(1);
			});
		}
	}

	@ParameterizedTest
	@CsvSource({ "lab.pinned.max-duration, 0s", "lab.locked-out.max-timeout, 999ms", "lab.pinned.max-wait, 1s" })
	void refusesToStartWithABadBound(String property, String value) {
		assertThatThrownBy(() -> LabApp.start(this.variant, "--" + property + "=" + value)).rootCause()
			.hasMessageContaining(property);
	}

	private static boolean isLockedOutRunning() {
		return lockedOut().findAny().isPresent();
	}

	private static Stream<Thread> lockedOut() {
		return Thread.getAllStackTraces().keySet().stream().filter((thread) -> thread.getName().equals("locked-out"));
	}

	private static int lineOf(String code, String file) throws IOException {
		List<String> lines = Files.readAllLines(Path.of("src/test/java/lab/virtualthreads", file));
		return IntStream.rangeClosed(1, lines.size())
			.filter((number) -> lines.get(number - 1).contains(code))
			.findFirst()
			.getAsInt();
	}

}
