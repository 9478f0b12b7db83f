package lab.virtualthreads.semaphore;

import java.time.Duration;
import java.util.concurrent.Semaphore;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * A bottleneck that no metric shows, for the tests of vtlab: {@code GET /semaphore?duration=200ms} waits for one of
 * {@code lab.semaphore.permits} permits and holds it for that long. Without that property it is not there: to the tests
 * of the application it would be a workload without training.
 */
@RestController
@ConditionalOnProperty("lab.semaphore.permits")
class SemaphoreController {

	private final Parameter<Duration> duration = Parameter.duration("duration", Duration.ZERO, Duration.ofMinutes(1));

	private final Semaphore permits;

	SemaphoreController(@Value("${lab.semaphore.permits}") int permits) {
		// Fair, so that no request waits for longer than its turn.
		this.permits = new Semaphore(permits, true);
	}

	@GetMapping(path = "/semaphore")
	void semaphore(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.duration);
		this.permits.acquire();
		try {
			Thread.sleep(parameters.get(this.duration));
		}
		finally {
			this.permits.release();
		}
	}

}
