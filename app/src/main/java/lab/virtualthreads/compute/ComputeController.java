package lab.virtualthreads.compute;

import java.time.Duration;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The long computation: {@code GET /compute?duration=13s} computes hashes until that time has passed, and neither waits
 * nor yields: a virtual thread keeps its carrier until the end. For {@code exp(13s)} see {@link Wait}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class ComputeController {

	/** The hashes between two looks at the clock: a fraction of a millisecond. */
	private static final int STEP = 1_000;

	@GetMapping(path = "/compute", produces = MediaType.APPLICATION_JSON_VALUE)
	HashChain compute(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) {
		return hash(duration.next(Wait.MOST_SECONDS));
	}

	/** Computes chains of the same length, one at least, and returns the last, with the hashes of all. */
	private static HashChain hash(Duration duration) {
		long start = System.nanoTime();
		long iterations = 0;
		HashChain chain;
		do {
			chain = HashChain.compute(STEP);
			iterations += STEP;
		}
		while (System.nanoTime() - start < duration.toNanos());
		return new HashChain(iterations, chain.digest());
	}

}
