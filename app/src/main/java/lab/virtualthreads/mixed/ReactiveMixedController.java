package lab.virtualthreads.mixed;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The same workload in the variant {@code reactive}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.REACTIVE)
class ReactiveMixedController {

	@GetMapping(path = "/mixed", produces = MediaType.APPLICATION_JSON_VALUE)
	Mono<HashChain> mixed(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration,
			@RequestParam @Range(min = 1, max = 1_000_000) long iterations) {
		// The timer is one of Reactor's parallel scheduler, a thread for each processor, made for computing. The hashes
		// stay there: that costs no further change of threads, and the event loops stay free for connections.
		return Mono.delay(duration.next(Wait.MOST_SECONDS)).map((tick) -> HashChain.compute(iterations));
	}

}
