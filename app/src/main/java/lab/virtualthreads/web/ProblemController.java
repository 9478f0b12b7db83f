package lab.virtualthreads.web;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.boot.webmvc.error.ErrorController;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.stereotype.Controller;

/**
 * Problem documents for errors that the container reports, in place of Spring Boot's own format.
 */
@Controller
@ConditionalOnWebApplication(type = Type.SERVLET)
class ProblemController implements ErrorController {

	@RequestMapping("/error")
	ResponseEntity<ProblemDetail> error(HttpServletRequest request) {
		Object status = request.getAttribute(RequestDispatcher.ERROR_STATUS_CODE);
		// Without a status nothing went wrong: the client asked for /error itself.
		int code = (status instanceof Integer error) ? error : HttpStatus.NOT_FOUND.value();
		return ResponseEntity.of(ProblemDetail.forStatus(code)).build();
	}

}
