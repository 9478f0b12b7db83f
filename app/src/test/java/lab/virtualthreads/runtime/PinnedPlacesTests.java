package lab.virtualthreads.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import lab.virtualthreads.Pinning;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Flight Recorder delivers once a second, in no particular order. On a busy machine little of the five milliseconds can be
 * left when a thread gets to wait, too little to be counted, therefore they pin again and again.
 */
class PinnedPlacesTests {

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

	private final PinnedPlaces places = new PinnedPlaces();

	@BeforeEach
	void start() {
		this.places.bindTo(this.registry);
	}

	@AfterEach
	void stop() {
		this.places.destroy();
	}

	@Test
	void countsPinnedThreadsByClassAndLine() {
		await().untilAsserted(() -> {
			Thread.ofVirtual().start(Pinning::fiveMilliseconds).join();
			assertThat(this.registry.find("jvm.threads.virtual.pinned.at")
				.tags("class", "lab.virtualthreads.Pinning$Sleeper", "line", lineOf("Thread.sleep(5)"))
				.counter()).isNotNull();
		});
	}

	@Test
	void countsPlacesBeyondTheBoundAsOthers() {
		await().untilAsserted(() -> {
			for (int i = 10; i < 35; i++) {
				String sleeper = "Sleep" + i;
				Thread.ofVirtual().start(() -> Pinning.fiveMilliseconds(sleeper)).join();
			}
			Counter other = this.registry.find("jvm.threads.virtual.pinned.at")
				.tags("class", "other", "line", "other")
				.counter();
			assertThat(other).isNotNull();
			assertThat(other.count()).isGreaterThanOrEqualTo(5);
		});
		assertThat(this.registry.find("jvm.threads.virtual.pinned.at").counters()).hasSizeBetween(20, 21);
	}

	private static String lineOf(String code) throws IOException {
		List<String> lines = Files.readAllLines(Path.of("src/test/java/lab/virtualthreads/Pinning.java"));
		return IntStream.rangeClosed(1, lines.size())
			.filter((number) -> lines.get(number - 1).contains(code))
			.mapToObj(String::valueOf)
			.findFirst()
			.orElseThrow();
	}

}
