package lab.virtualthreads.async;

import org.springframework.core.task.TaskRejectedException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/**
 * A request that the bounded pool had no room for: 503 with a problem document (RFC 9457).
 */
class TaskRejectedProblem extends ErrorResponseException {

	/**
	 * Creates the problem document of a request.
	 * @param accepted how many tasks of the request were accepted before
	 * @param tasks how many it has
	 */
	TaskRejectedProblem(int accepted, int tasks, RunProperties properties, TaskRejectedException cause) {
		super(HttpStatus.SERVICE_UNAVAILABLE, problem(accepted, tasks, properties), cause);
	}

	private static ProblemDetail problem(int accepted, int tasks, RunProperties properties) {
		ProblemDetail problem = ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE,
				("Executor 'bounded' rejected task %d of %d: its threads were busy and its queue was full "
						+ "(lab.run.max=%d, lab.run.queue=%d)")
					.formatted(accepted + 1, tasks, properties.max(), properties.queue()));
		problem.setTitle("Task rejected");
		problem.setProperty("executor", "bounded");
		problem.setProperty("lab.run.max", properties.max());
		problem.setProperty("lab.run.queue", properties.queue());
		return problem;
	}

}
