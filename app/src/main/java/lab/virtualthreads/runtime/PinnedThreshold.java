package lab.virtualthreads.runtime;

import java.time.Duration;

import jdk.jfr.Recording;

import org.springframework.beans.factory.DisposableBean;

/**
 * Has pinned virtual threads counted from 1 ms on. Micrometer's binder asks Flight Recorder for events of at least
 * 20 ms and cannot be told otherwise. Flight Recorder however applies the lowest threshold of all recordings, and shows
 * every event to every stream, so a second recording that keeps nothing does it; the meter stays Micrometer's own.
 */
class PinnedThreshold implements DisposableBean {

	static final Duration THRESHOLD = Duration.ofMillis(1);

	private final Recording recording = new Recording();

	PinnedThreshold() {
		this.recording.setName("pinned-threshold");
		this.recording.setToDisk(false);
		this.recording.enable("jdk.VirtualThreadPinned").withThreshold(THRESHOLD).withoutStackTrace();
		this.recording.start();
	}

	@Override
	public void destroy() {
		this.recording.close();
	}

}
