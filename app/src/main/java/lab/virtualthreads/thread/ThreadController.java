package lab.virtualthreads.thread;

import java.time.Duration;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The blocking workload: {@code GET /thread?duration=5s} keeps its thread waiting, without any CPU, and says which
 * kind of thread it was. The duration goes from 0 to {@code lab.thread.max-duration}.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class ThreadController {

	private final Parameter<Duration> duration;

	ThreadController(ThreadProperties properties) {
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration());
	}

	@GetMapping(path = "/thread", produces = MediaType.APPLICATION_JSON_VALUE)
	ThreadAnswer thread(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.duration);
		Thread.sleep(parameters.get(this.duration));
		return ThreadAnswer.ofCurrentThread();
	}

}
