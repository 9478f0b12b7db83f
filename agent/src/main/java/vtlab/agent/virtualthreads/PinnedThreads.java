package vtlab.agent.virtualthreads;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingStream;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Virtual threads that kept their carrier while they waited: how often and how long, in all and by the place in the
 * code where they waited; and those that the scheduler did not take. Flight Recorder delivers once a second.
 * <p>
 * Flight Recorder applies the lowest threshold of all recordings, and shows every event to every stream: Micrometer's
 * binder, which asks for 20 ms, then counts the same pinnings as this does.
 */
public final class PinnedThreads implements Meters, AutoCloseable {

	/**
	 * The default threshold. It also bounds the cost: a carrier can be pinned for 1 ms no more than 1,000 times a
	 * second.
	 */
	public static final Duration THRESHOLD = Duration.ofMillis(1);

	/** The most places to tell apart: each is a time series. */
	static final int MOST_PLACES = 20;

	private static final String PINNED = "jdk.VirtualThreadPinned";

	private static final String SUBMIT_FAILED = "jdk.VirtualThreadSubmitFailed";

	private static final Place OTHER = new Place("other", "other");

	private final RecordingStream stream = new RecordingStream();

	private final Total all = new Total();

	private final AtomicLong submitFailed = new AtomicLong();

	/** Totals by place. The stream's own thread adds to them. */
	private final Map<Place, Total> places = new ConcurrentHashMap<>();

	/**
	 * Creates a counter that counts nothing before it {@linkplain #run() runs}.
	 * @param threshold the shortest pinning to be counted
	 */
	public PinnedThreads(Duration threshold) {
		this.stream.setReuse(true);
		this.stream.setOrdered(false);
		this.stream.setMaxAge(Duration.ofSeconds(5));
		this.stream.enable(SUBMIT_FAILED);
		this.stream.onEvent(PINNED, this::count);
		this.stream.onEvent(SUBMIT_FAILED, (event) -> this.submitFailed.incrementAndGet());
		setThreshold(threshold);
	}

	/** Sets another threshold, from now on. */
	public void setThreshold(Duration threshold) {
		this.stream.enable(PINNED).withThreshold(threshold).withStackTrace();
	}

	/** Counts on the calling thread, until this is closed. */
	public void run() {
		try {
			this.stream.start();
		}
		catch (IllegalStateException ex) {
			// It was closed before it began.
		}
	}

	/** Counts on a thread of Flight Recorder's, until this is closed. */
	public void start() {
		this.stream.startAsync();
	}

	@Override
	public void write(Page page) {
		page.timer("jvm_threads_virtual_pinned_seconds", "Virtual threads that kept their carrier while they waited",
				this.all.count, this.all.seconds);
		page.counter("jvm_threads_virtual_submit_failed_total", "Virtual threads that the scheduler did not take",
				this.submitFailed.get());
		writePlaces(page);
	}

	/** Writes the pinnings by place alone. */
	public void writePlaces(Page page) {
		this.places.forEach((place, total) -> {
			String[] labels = { "class", place.className(), "line", place.line() };
			page.counter("jvm_threads_virtual_pinned_at_total",
					"Virtual threads pinned, by the line of code that waited", total.count, labels);
			page.counter("jvm_threads_virtual_pinned_at_seconds_total",
					"Time that virtual threads were pinned, in all, by the line of code that waited", total.seconds,
					labels);
		});
	}

	@Override
	public void close() {
		this.stream.close();
	}

	private void count(RecordedEvent event) {
		Place place = Place.of(event);
		Place counted = (this.places.containsKey(place) || this.places.size() < MOST_PLACES) ? place : OTHER;
		this.places.computeIfAbsent(counted, (key) -> new Total()).add(event.getDuration());
		this.all.add(event.getDuration());
	}

	/** Number and duration of pinnings. One thread adds, any may read. */
	private static final class Total {

		private volatile long count;

		private volatile double seconds;

		void add(Duration duration) {
			this.count = this.count + 1;
			this.seconds = this.seconds + duration.toNanos() / 1e9;
		}

	}

	/**
	 * The innermost frame of a stack that is not the JDK's: a line of the service or of a library.
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

	}

}
