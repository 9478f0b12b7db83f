package lab.virtualthreads.planted;

import java.time.Duration;

import lab.virtualthreads.cpu.HashChain;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A computation that takes longer than asked for by the share {@code lab.planted.more-cpu}, for the tests of vtlab,
 * where that is set: {@code GET /planted/computation?duration=20ms}. It takes a time, not a number of steps: so the
 * share is planted on cores that change their speed, and however well each JVM has compiled the steps.
 */
@RestController
@ConditionalOnProperty("lab.planted.more-cpu")
class PlantedComputationController {

	/** The hashes between two looks at the clock: a fraction of a millisecond. */
	private static final int STEP = 100;

	private final double more;

	PlantedComputationController(@Value("${lab.planted.more-cpu}") double more) {
		this.more = more;
	}

	@GetMapping("/planted/computation")
	HashChain compute(@RequestParam @DurationMax(seconds = 1) Duration duration) {
		long start = System.nanoTime();
		double nanos = duration.toNanos() * (1 + this.more);
		HashChain chain;
		do {
			chain = HashChain.compute(STEP);
		}
		while (System.nanoTime() - start < nanos);
		return chain;
	}

}
