package lab.virtualthreads.sleep;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The blocking workload: {@code GET /thread?duration=5s} keeps its thread waiting, without any CPU, and says which
 * kind of thread it was. For {@code exp(5s)} see {@link Wait}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class SleepController {

	@GetMapping(path = "/thread", produces = MediaType.APPLICATION_JSON_VALUE)
	SleepAnswer sleep(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration)
			throws InterruptedException {
		Thread.sleep(duration.next(Wait.MOST_SECONDS));
		return SleepAnswer.ofCurrentThread();
	}

}
