package vtlab.agent.virtualthreads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import vtlab.agent.page.Page;
import vtlab.testing.Pinning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.DOUBLE;
import static org.awaitility.Awaitility.await;

/**
 * Flight Recorder delivers once a second, in no particular order. On a busy machine little of the five milliseconds can
 * be left when a thread gets to wait, too little to be counted, therefore they pin again and again.
 */
class PinnedThreadsTests {

	private static final String COUNT = "jvm_threads_virtual_pinned_at_total{class=";

	private final PinnedThreads pinned = new PinnedThreads(PinnedThreads.THRESHOLD);

	@BeforeEach
	void start() {
		this.pinned.start();
	}

	@AfterEach
	void stop() {
		this.pinned.close();
	}

	@Test
	void areCountedByClassAndLine() {
		await().untilAsserted(() -> {
			Thread.ofVirtual().start(Pinning::fiveMilliseconds).join();
			assertThat(lines()).anyMatch((line) -> line.startsWith(
					COUNT + "\"vtlab.testing.Pinning$Sleeper\",line=\"" + lineOf("Thread.sleep(5)") + "\"} "));
		});
	}

	@Test
	void areOthersBeyondTheBoundOfPlaces() {
		await().untilAsserted(() -> {
			for (int i = 10; i < 35; i++) {
				String sleeper = "Sleep" + i;
				Thread.ofVirtual().start(() -> Pinning.fiveMilliseconds(sleeper)).join();
			}
			assertThat(lines()).filteredOn((line) -> line.startsWith(COUNT + "\"other\""))
				.singleElement()
				.extracting((line) -> Double.parseDouble(line.substring(line.lastIndexOf(' '))), DOUBLE)
				.isGreaterThanOrEqualTo(5);
		});
		assertThat(lines()).filteredOn((line) -> line.startsWith(COUNT)).hasSizeBetween(20, 21);
	}

	private List<String> lines() {
		Page page = new Page();
		this.pinned.write(page);
		return page.text().lines().toList();
	}

	private static String lineOf(String code) {
		try (Stream<String> lines = Files.lines(Path.of("src/shared-test/java/vtlab/testing/Pinning.java"))) {
			List<String> all = lines.toList();
			return IntStream.range(0, all.size())
				.filter((index) -> all.get(index).contains(code))
				.mapToObj((index) -> String.valueOf(index + 1))
				.findFirst()
				.orElseThrow();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

}
