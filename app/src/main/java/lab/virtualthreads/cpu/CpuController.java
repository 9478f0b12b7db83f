package lab.virtualthreads.cpu;

import org.hibernate.validator.constraints.Range;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The computing workload: {@code GET /cpu?iterations=1000} computes a hash chain of that length, without waiting. 10
 * million take a second or two of CPU.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class CpuController {

	@GetMapping(path = "/cpu", produces = MediaType.APPLICATION_JSON_VALUE)
	HashChain cpu(@RequestParam @Range(min = 1, max = 10_000_000) long iterations) {
		return HashChain.compute(iterations);
	}

}
