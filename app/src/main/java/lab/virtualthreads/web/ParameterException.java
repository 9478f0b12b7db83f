package lab.virtualthreads.web;

import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/**
 * A query that a workload does not accept: 400 with a problem document (RFC 9457), whose member {@code parameter} names
 * the parameter and whose {@code detail} says what is wrong with it.
 */
public class ParameterException extends ErrorResponseException {

	public ParameterException(String parameter, String problem) {
		super(HttpStatus.BAD_REQUEST, document(parameter, problem), null);
	}

	/**
	 * Returns the value of a parameter, or else the application's default for it.
	 * @throws ParameterException where there is neither
	 */
	public static <T> T requireNonNull(String parameter, @Nullable T value, @Nullable T byDefault) {
		if (value != null) {
			return value;
		}
		if (byDefault != null) {
			return byDefault;
		}
		throw new ParameterException(parameter, "is missing");
	}

	static ProblemDetail document(String parameter, String problem) {
		ProblemDetail document = ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST,
				"Parameter '%s' %s".formatted(parameter, problem));
		document.setProperty("parameter", parameter);
		return document;
	}

}
