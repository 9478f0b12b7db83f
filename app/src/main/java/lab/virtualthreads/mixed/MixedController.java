package lab.virtualthreads.mixed;

import java.time.Duration;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workload of an ordinary service: {@code GET /mixed?duration=50ms&iterations=1000} waits, as for another service,
 * then computes a little with what it got. Bounds are {@code lab.mixed.max-duration} (from 0) and
 * {@code lab.mixed.max-iterations} (from 1).
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class MixedController {

	private final Parameter<Duration> duration;

	private final Parameter<Long> iterations;

	MixedController(MixedProperties properties) {
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration());
		this.iterations = Parameter.wholeNumber("iterations", 1, properties.maxIterations());
	}

	@GetMapping(path = "/mixed", produces = MediaType.APPLICATION_JSON_VALUE)
	HashChain mixed(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.duration, this.iterations);
		Thread.sleep(parameters.get(this.duration));
		return HashChain.compute(parameters.get(this.iterations));
	}

}
