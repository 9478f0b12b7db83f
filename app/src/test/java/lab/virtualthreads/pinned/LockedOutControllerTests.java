package lab.virtualthreads.pinned;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import vtlab.testing.Pinning;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@ServletSlice
class LockedOutControllerTests {

	private static final boolean MONITORS_PIN = Runtime.version().feature() < 24;

	@Autowired
	private MockMvcTester mvc;

	@Test
	void locksOutOnlyWhereMonitorsPinAndLeavesNothingBehind() throws Exception {
		for (int i = 0; i < 2; i++) {
			MvcTestResult result = get("/locked-out?timeout=10s");
			assertThat(result).hasStatusOk();
			JsonNode answer = JsonMapper.shared().readTree(result.getResponse().getContentAsByteArray());
			assertThat(answer.get("finished").booleanValue()).isEqualTo(!MONITORS_PIN);
			assertThat(answer.get("acquired").intValue())
				.isEqualTo(MONITORS_PIN ? 0 : answer.get("threads").intValue());
			assertThat(answer.get("waiting").intValue()).isGreaterThanOrEqualTo(answer.get("carriers").intValue());
			Thread.startVirtualThread(() -> { }).join();
		}
	}

	@Test
	void locksOutOneAtATimeAndSaysWhenTheCarriersAreBusy() throws Exception {
		CountDownLatch pinned = new CountDownLatch(Runtime.getRuntime().availableProcessors());
		CountDownLatch released = new CountDownLatch(1);
		FutureTask<MvcTestResult> first = new FutureTask<>(() -> get("/locked-out?timeout=1s"));
		try {
			for (long i = pinned.getCount(); i > 0; i--) {
				Thread.ofVirtual().start(() -> Pinning.until(pinned, released));
			}
			pinned.await();
			Thread.ofPlatform().start(first);
			await().until(() -> lockedOut().findAny().isPresent());
			assertThat(get("/locked-out?timeout=2s")).hasStatus(409);
			// By then its time-out has begun, and it passes without a carrier.
			await().until(() -> lockedOut().anyMatch((thread) -> thread.getState() == Thread.State.WAITING));
			Thread.sleep(1000);
		}
		finally {
			released.countDown();
		}
		assertThat(first.get()).hasStatus(503).bodyText().contains("0 of ");
		assertThat(get("/locked-out?timeout=10s")).hasStatusOk();
	}

	private MvcTestResult get(String path) {
		return this.mvc.get().uri(path).exchange();
	}

	private static Stream<Thread> lockedOut() {
		return Thread.getAllStackTraces().keySet().stream().filter((thread) -> thread.getName().equals("locked-out"));
	}

}
