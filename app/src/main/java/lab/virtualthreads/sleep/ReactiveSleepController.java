package lab.virtualthreads.sleep;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The same wait in the variant {@code reactive}: no thread is kept waiting, so it says which one answered.
 */
@RestController
@ConditionalOnWebApplication(type = Type.REACTIVE)
class ReactiveSleepController {

	@GetMapping(path = "/thread", produces = MediaType.APPLICATION_JSON_VALUE)
	Mono<SleepAnswer> sleep(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) {
		return Mono.delay(duration.next(Wait.MOST_SECONDS)).map((tick) -> SleepAnswer.ofCurrentThread());
	}

}
