package lab.virtualthreads.runtime;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingStream;

import org.springframework.beans.factory.DisposableBean;

/**
 * Has pinned virtual threads counted from 1 ms on, and counts them by the place in the code that had them wait.
 * <p>
 * Micrometer's binder asks Flight Recorder for events of at least 20 ms and cannot be told otherwise. Flight Recorder
 * however applies the lowest threshold of all recordings, and shows every event to every stream, so the one here does it
 * for both; {@code jvm.threads.virtual.pinned} stays Micrometer's own.
 * <p>
 * The threshold also bounds the cost: a carrier can be pinned for 1 ms no more than 1,000 times a second.
 */
class PinnedPlaces implements MeterBinder, DisposableBean {

	static final Duration THRESHOLD = Duration.ofMillis(1);

	/** Each is a time series. */
	static final int MOST_PLACES = 20;

	private static final String EVENT = "jdk.VirtualThreadPinned";

	private static final Place OTHER = new Place("other", "other");

	private final RecordingStream stream = new RecordingStream();

	PinnedPlaces() {
		this.stream.setReuse(true);
		this.stream.setOrdered(false);
		this.stream.setMaxAge(Duration.ofSeconds(5));
		this.stream.enable(EVENT).withThreshold(THRESHOLD).withStackTrace();
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		// Of the stream's own thread only.
		Map<Place, Counter> counters = new HashMap<>();
		this.stream.onEvent(EVENT, (event) -> {
			Place place = Place.of(event);
			Place counted = (counters.containsKey(place) || counters.size() < MOST_PLACES) ? place : OTHER;
			counters.computeIfAbsent(counted, (key) -> key.counter(registry)).increment();
		});
		this.stream.startAsync();
	}

	@Override
	public void destroy() {
		this.stream.close();
	}

	/**
	 * The innermost frame of a stack that is not the JDK's: a line of this application or of a library.
	 */
	private record Place(String className, String line) {

		static Place of(RecordedEvent event) {
			if (event.getStackTrace() == null) {
				return OTHER;
			}
			return event.getStackTrace()
				.getFrames()
				.stream()
				.filter((frame) -> frame.isJavaFrame() && !isOfTheJdk(frame))
				.findFirst()
				.map((frame) -> new Place(frame.getMethod().getType().getName(), String.valueOf(frame.getLineNumber())))
				.orElse(OTHER);
		}

		private static boolean isOfTheJdk(RecordedFrame frame) {
			String name = frame.getMethod().getType().getName();
			return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
		}

		Counter counter(MeterRegistry registry) {
			return Counter.builder("jvm.threads.virtual.pinned.at")
				.tag("class", this.className)
				.tag("line", this.line)
				.description("Virtual threads pinned for at least 1 ms, by the line of code that waited")
				.register(registry);
		}

	}

}
