package lab.virtualthreads.fanout;

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
 * The workload of a request that has its work done by others: {@code GET /fan-out?tasks=500&duration=50ms&executor=pool8}
 * runs that many tasks on that executor ({@code pool8}, {@code pool200}, {@code processors} or {@code virtual}) and waits
 * for all; an application may have one for requests that name none ({@code lab.fan-out.executor}). Each waits for {@code duration}, then computes a hash chain of {@code iterations}; either is zero unless given.
 * Bounds are {@code lab.fan-out.max-tasks} (from 1), {@code lab.fan-out.max-duration} and
 * {@code lab.fan-out.max-iterations} (from 0).
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class FanOutController {

	private final FanOutExecutors executors;

	private final Parameter<Long> tasks;

	private final Parameter<FanOutExecutor> executor;

	private final Parameter<Duration> duration;

	private final Parameter<Long> iterations;

	FanOutController(FanOutExecutors executors, FanOutProperties properties) {
		this.executors = executors;
		this.executor = Parameter.oneOf("executor", FanOutExecutor.class).orElse(properties.executor());
		this.tasks = Parameter.wholeNumber("tasks", 1, properties.maxTasks());
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration()).orElse(Duration.ZERO);
		this.iterations = Parameter.wholeNumber("iterations", 0, properties.maxIterations()).orElse(0L);
	}

	@GetMapping(path = "/fan-out", produces = MediaType.APPLICATION_JSON_VALUE)
	FanOutAnswer fanOut(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.tasks, this.executor, this.duration, this.iterations);
		FanOutExecutor kind = parameters.get(this.executor);
		FanOut.Task task = new FanOut.Task(parameters.get(this.duration), parameters.get(this.iterations));
		return FanOutAnswer.of(kind,
				FanOut.run(this.executors.get(kind), parameters.get(this.tasks).intValue(), task));
	}

}
