package lab.virtualthreads.web;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/**
 * Problem documents for what Spring MVC has none for by itself.
 */
@RestControllerAdvice
@ConditionalOnWebApplication(type = Type.SERVLET)
class ProblemAdvice {

	/**
	 * Answers 503 where a wait was cut short: the threads of a server are interrupted only as it stops, so the client
	 * may try elsewhere.
	 */
	@ExceptionHandler
	ProblemDetail handle(InterruptedException ex) {
		Thread.currentThread().interrupt();
		return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, "The wait was interrupted");
	}

}
