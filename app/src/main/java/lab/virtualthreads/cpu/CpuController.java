package lab.virtualthreads.cpu;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The computing workload: {@code GET /cpu?iterations=1000} computes a hash chain of that length, without waiting. The
 * iterations go from 1 to {@code lab.cpu.max-iterations}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class CpuController {

	private final Parameter<Long> iterations;

	CpuController(CpuProperties properties) {
		this.iterations = Parameter.wholeNumber("iterations", 1, properties.maxIterations());
	}

	@GetMapping(path = "/cpu", produces = MediaType.APPLICATION_JSON_VALUE)
	HashChain cpu(HttpServletRequest request) {
		Parameters parameters = Parameters.read(request, this.iterations);
		return HashChain.compute(parameters.get(this.iterations));
	}

}
