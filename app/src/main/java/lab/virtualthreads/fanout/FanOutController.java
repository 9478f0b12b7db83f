package lab.virtualthreads.fanout;

import lab.virtualthreads.web.ParameterException;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workload of a request whose work is done by others: {@code GET /fan-out?tasks=500&duration=50ms&executor=pool8}
 * runs that many tasks on that executor ({@code pool8}, {@code pool200}, {@code processors} or {@code virtual}) and
 * waits for all. {@code lab.fan-out.executor} is the executor of requests that name none. Each task waits for
 * {@code duration}, then computes a hash chain of {@code iterations}. All bounds at once take minutes: a pool of 8
 * works through 1000 waits of 1 s in 125 s.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class FanOutController {

	private final FanOutExecutors executors;

	private final FanOutProperties properties;

	FanOutController(FanOutExecutors executors, FanOutProperties properties) {
		this.executors = executors;
		this.properties = properties;
	}

	@GetMapping(path = "/fan-out", produces = MediaType.APPLICATION_JSON_VALUE)
	FanOutAnswer fanOut(@RequestParam @Range(min = 1, max = 1000) long tasks,
			@RequestParam(required = false) @Nullable FanOutExecutor executor,
			@RequestParam(defaultValue = "0s") @DurationMax(seconds = FanOut.MOST_SECONDS) Wait duration,
			@RequestParam(defaultValue = "0") @Range(max = 500_000) long iterations) throws InterruptedException {
		FanOutExecutor kind = ParameterException.requireNonNull("executor", executor, this.properties.executor());
		FanOut.Task task = new FanOut.Task(duration, iterations);
		return FanOutAnswer.of(kind, FanOut.run(this.executors.get(kind), (int) tasks, task));
	}

}
