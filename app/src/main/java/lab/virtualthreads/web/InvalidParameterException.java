package lab.virtualthreads.web;

import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/**
 * A request that a workload does not accept: 400 with a problem document (RFC 9457) whose members {@code parameter},
 * {@code value} (null when missing, a list when repeated) and {@code allowed} say what to change.
 */
class InvalidParameterException extends ErrorResponseException {

	InvalidParameterException(String parameter, @Nullable Object value, String allowed) {
		super(HttpStatus.BAD_REQUEST, problem(parameter, value, allowed), null);
	}

	private static ProblemDetail problem(String parameter, @Nullable Object value, String allowed) {
		String given = (value != null) ? "is '" + value + "'" : "is missing";
		ProblemDetail problem = ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST,
				"Parameter '%s' %s; allowed: %s".formatted(parameter, given, allowed));
		problem.setProperty("parameter", parameter);
		problem.setProperty("value", value);
		problem.setProperty("allowed", allowed);
		return problem;
	}

}
