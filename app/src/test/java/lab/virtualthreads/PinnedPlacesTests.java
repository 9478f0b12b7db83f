package lab.virtualthreads;

import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Apart from the tests of single places, since it uses all of them up.
 */
class PinnedPlacesTests {

	private static final String COUNTER = "jvm_threads_virtual_pinned_at_total";

	@Test
	void countsPlacesBeyondTheBoundAsOthers() throws Exception {
		try (LabApp app = LabApp.start(Variant.PLATFORM)) {
			// Flight Recorder delivers once a second, in no particular order. On a busy machine little of the five
			// milliseconds can be left when the thread gets to wait, too little to be counted, therefore again.
			await().untilAsserted(() -> {
				for (int i = 10; i < 35; i++) {
					String sleeper = "Sleep" + i;
					Thread.ofVirtual().start(() -> Pinning.fiveMilliseconds(sleeper)).join();
				}
				assertThat(app.metric(COUNTER, "class=\"other\"", "line=\"other\"")).isGreaterThanOrEqualTo(5);
			});
			List<String> series = app.scrape().stream().filter((line) -> line.startsWith(COUNTER + "{")).toList();
			assertThat(series).hasSizeBetween(20, 21);
		}
	}

}
