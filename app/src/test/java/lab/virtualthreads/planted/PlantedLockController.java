package lab.virtualthreads.planted;

import java.util.concurrent.locks.ReentrantLock;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A wait with a lock that every request wants, outside of any pool, for the tests of vtlab, where
 * {@code lab.planted.lock} is set: {@code GET /planted/lock?duration=20ms}.
 */
@RestController
@ConditionalOnProperty("lab.planted.lock")
class PlantedLockController {

	private final ReentrantLock lock = new ReentrantLock(true);

	@GetMapping("/planted/lock")
	void lock(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) throws InterruptedException {
		this.lock.lock();
		try {
			Thread.sleep(duration.next(Wait.MOST_SECONDS));
		}
		finally {
			this.lock.unlock();
		}
	}

}
