package lab.virtualthreads.planted;

import lab.virtualthreads.cpu.HashChain;
import org.hibernate.validator.constraints.Range;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A computation that is longer than asked for by the share {@code lab.planted.more-cpu}, for the tests of vtlab, where
 * that is set: {@code GET /planted/computation?iterations=60000}.
 */
@RestController
@ConditionalOnProperty("lab.planted.more-cpu")
class PlantedComputationController {

	private final double more;

	PlantedComputationController(@Value("${lab.planted.more-cpu}") double more) {
		this.more = more;
	}

	@GetMapping("/planted/computation")
	HashChain compute(@RequestParam @Range(min = 1, max = 1_000_000) long iterations) {
		return HashChain.compute(Math.round(iterations * (1 + this.more)));
	}

}
