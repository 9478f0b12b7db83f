package lab.virtualthreads.mixed;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workload of an ordinary service: {@code GET /mixed?duration=50ms&iterations=1000} waits, as for another service,
 * then computes a little with what it got.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class MixedController {

	@GetMapping(path = "/mixed", produces = MediaType.APPLICATION_JSON_VALUE)
	HashChain mixed(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration,
			@RequestParam @Range(min = 1, max = 1_000_000) long iterations) throws InterruptedException {
		Thread.sleep(duration.next(Wait.MOST_SECONDS));
		return HashChain.compute(iterations);
	}

}
