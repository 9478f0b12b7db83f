package lab.virtualthreads.pinned;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.locks.ReentrantLock;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The pinning workload: {@code GET /pinned?duration=100ms&lock=monitor} waits while it holds a lock, {@code monitor} or
 * {@code reentrant}; an application may have one for requests that name none ({@code lab.pinned.lock}). Every request has a lock of its own, so none waits for another's: what is left of a difference is
 * that a monitor keeps a virtual thread on its carrier before JDK 24. The duration goes from 0 to
 * {@code lab.pinned.max-duration}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class PinnedController {

	private final Parameter<Duration> duration;

	private final Parameter<LockKind> lock;

	PinnedController(PinnedProperties properties) {
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration());
		this.lock = Parameter.oneOf("lock", LockKind.class).orElse(properties.lock());
	}

	@GetMapping(path = "/pinned", produces = MediaType.APPLICATION_JSON_VALUE)
	PinnedAnswer pinned(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.duration, this.lock);
		LockKind kind = parameters.get(this.lock);
		switch (kind) {
			case MONITOR -> sleepInMonitor(request, parameters.get(this.duration));
			case REENTRANT -> sleepInReentrantLock(parameters.get(this.duration));
		}
		return new PinnedAnswer(Thread.currentThread().isVirtual(), kind.name().toLowerCase(Locale.ROOT));
	}

	/** The JIT compiler would leave out the monitor of an object that nobody else can see, and nothing would pin. */
	private static void sleepInMonitor(HttpServletRequest ofTheRequest, Duration duration) throws InterruptedException {
		synchronized (ofTheRequest) {
			Thread.sleep(duration);
		}
	}

	private static void sleepInReentrantLock(Duration duration) throws InterruptedException {
		ReentrantLock lock = new ReentrantLock();
		lock.lock();
		try {
			Thread.sleep(duration);
		}
		finally {
			lock.unlock();
		}
	}

}
