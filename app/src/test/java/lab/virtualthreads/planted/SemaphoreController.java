package lab.virtualthreads.planted;

import java.time.Duration;
import java.util.concurrent.Semaphore;

import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A bottleneck that no metric shows, for the tests of vtlab: {@code GET /semaphore?duration=200ms} waits for one of
 * {@code lab.semaphore.permits} permits and holds it for that long. Without that property it is not there: to the tests
 * of the application it would be a workload without training.
 */
@RestController
@ConditionalOnProperty("lab.semaphore.permits")
class SemaphoreController {

	private final Semaphore permits;

	SemaphoreController(@Value("${lab.semaphore.permits}") int permits) {
		// Fair, so that no request waits for longer than its turn.
		this.permits = new Semaphore(permits, true);
	}

	@GetMapping(path = "/semaphore")
	void semaphore(@RequestParam @DurationMax(seconds = 60) Duration duration) throws InterruptedException {
		this.permits.acquire();
		try {
			Thread.sleep(duration);
		}
		finally {
			this.permits.release();
		}
	}

}
