package lab.virtualthreads.mixed;

import java.time.Duration;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The same workload in the variant {@code reactive}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.REACTIVE)
class ReactiveMixedController {

	private final Parameter<Duration> duration;

	private final Parameter<Long> iterations;

	ReactiveMixedController(MixedProperties properties) {
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration());
		this.iterations = Parameter.wholeNumber("iterations", 1, properties.maxIterations());
	}

	@GetMapping(path = "/mixed", produces = MediaType.APPLICATION_JSON_VALUE)
	Mono<HashChain> mixed(ServerHttpRequest request) {
		Parameters parameters = Parameters.read(request, this.duration, this.iterations);
		// The timer is one of Reactor's parallel scheduler, a thread for each processor, made for computing. The hashes
		// stay there: that costs no further change of threads, and the event loops stay free for connections.
		return Mono.delay(parameters.get(this.duration))
			.map((tick) -> HashChain.compute(parameters.get(this.iterations)));
	}

}
