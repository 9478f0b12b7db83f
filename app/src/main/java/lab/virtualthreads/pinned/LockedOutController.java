package lab.virtualthreads.pinned;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;

import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workload {@code GET /locked-out?timeout=2s}, which says whether virtual threads can lock each other out (see
 * {@link LockedOut}). Where they can, before JDK 24, no virtual thread of this process gets a carrier until the
 * time-out, the requests of the variant {@code virtual} included; then all continue. A busy machine needs a second to
 * start the threads. One request at a time: others get 409. 503 when the carriers were too busy to show anything.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class LockedOutController {

	private final AtomicBoolean running = new AtomicBoolean();

	@GetMapping(path = "/locked-out", produces = MediaType.APPLICATION_JSON_VALUE)
	LockedOutAnswer lockedOut(
			@RequestParam @DurationMin(seconds = 1) @DurationMax(seconds = 10) Duration timeout)
			throws InterruptedException, ExecutionException {
		if (!this.running.compareAndSet(false, true)) {
			throw problem(HttpStatus.CONFLICT, "Another request for /locked-out is being served; try again after it");
		}
		FutureTask<LockedOutAnswer> task = new FutureTask<>(() -> {
			// Not with the request, which can be interrupted while threads are still locked out.
			try {
				return new LockedOut(timeout).run();
			}
			finally {
				this.running.set(false);
			}
		});
		Thread.ofPlatform().daemon().name("locked-out").start(task);
		LockedOutAnswer answer = task.get();
		if (answer.waiting() < answer.carriers()) {
			throw problem(HttpStatus.SERVICE_UNAVAILABLE,
					"Other work left only %d of %d carriers in time, so nothing was shown; try a longer time-out"
						.formatted(answer.waiting(), answer.carriers()));
		}
		return answer;
	}

	private static ErrorResponseException problem(HttpStatus status, String detail) {
		return new ErrorResponseException(status, ProblemDetail.forStatusAndDetail(status, detail), null);
	}

}
