package lab.virtualthreads.thread;

import java.time.Duration;

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
 * The same wait in the variant {@code reactive}: no thread is kept waiting, so it says which one answered.
 */
@RestController
@ConditionalOnWebApplication(type = Type.REACTIVE)
class ReactiveThreadController {

	private final Parameter<Duration> duration;

	ReactiveThreadController(ThreadProperties properties) {
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration());
	}

	@GetMapping(path = "/thread", produces = MediaType.APPLICATION_JSON_VALUE)
	Mono<ThreadAnswer> thread(ServerHttpRequest request) {
		Parameters parameters = Parameters.read(request, this.duration);
		return Mono.delay(parameters.get(this.duration)).map((tick) -> ThreadAnswer.ofCurrentThread());
	}

}
