package lab.virtualthreads.pinned;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.locks.ReentrantLock;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.ParameterException;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The pinning workload: {@code GET /pinned?duration=100ms&lock=monitor} waits while it holds a lock, {@code monitor} or
 * {@code reentrant}. {@code lab.pinned.lock} is the lock of requests that name none. Every request has its own lock,
 * so none waits for another's: what is left of a difference is that a monitor keeps a virtual thread on its carrier
 * before JDK 24.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class PinnedController {

	private final PinnedProperties properties;

	PinnedController(PinnedProperties properties) {
		this.properties = properties;
	}

	@GetMapping(path = "/pinned", produces = MediaType.APPLICATION_JSON_VALUE)
	PinnedAnswer pinned(HttpServletRequest request,
			@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration,
			@RequestParam(required = false) @Nullable LockKind lock) throws InterruptedException {
		LockKind kind = ParameterException.requireNonNull("lock", lock, this.properties.lock());
		switch (kind) {
			case MONITOR -> sleepInMonitor(request, duration.next(Wait.MOST_SECONDS));
			case REENTRANT -> sleepInReentrantLock(duration.next(Wait.MOST_SECONDS));
		}
		return new PinnedAnswer(Thread.currentThread().isVirtual(), kind.name().toLowerCase(Locale.ROOT));
	}

	/**
	 * Waits in the monitor of an object that other threads can see. The JIT compiler would leave out that of any other
	 * object, and nothing would pin.
	 */
	private static void sleepInMonitor(HttpServletRequest shared, Duration duration) throws InterruptedException {
		synchronized (shared) {
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
