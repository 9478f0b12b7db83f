package lab.virtualthreads.web;

import java.lang.reflect.Parameter;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.TypeMismatchException;
import org.springframework.core.annotation.Order;
import org.springframework.http.ProblemDetail;
import org.springframework.util.MultiValueMap;
import org.springframework.util.StringUtils;
import org.springframework.validation.method.ParameterValidationResult;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.ModelAttribute;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.bind.annotation.ValueConstants;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.method.annotation.HandlerMethodValidationException;

/**
 * The check of the query before every workload, on both servers. A load test that misspells a parameter must not
 * measure something else without saying so: each parameter is there once, with a value, or not at all where it is
 * optional, and no other is. Types and bounds are those of the controller's method.
 */
@RestControllerAdvice(annotations = RestController.class)
// Before Spring Boot's, whose problem documents do not name the parameter.
@Order(-1)
class QueryCheck {

	private static final String ON_SERVLET = "org.springframework.web.servlet.HandlerMapping.bestMatchingHandler";

	private static final String ON_WEBFLUX = "org.springframework.web.reactive.HandlerMapping.bestMatchingHandler";

	@ModelAttribute
	void check(@RequestParam MultiValueMap<String, String> query,
			@RequestAttribute(name = ON_SERVLET, required = false) @Nullable Object onServlet,
			@RequestAttribute(name = ON_WEBFLUX, required = false) @Nullable Object onWebFlux) {
		// Not declared as a HandlerMethod, which Spring MVC resolves to null.
		HandlerMethod workload = (HandlerMethod) ((onServlet != null) ? onServlet : onWebFlux);
		Map<String, RequestParam> parameters = parameters(workload);
		query.forEach((name, values) -> {
			if (!parameters.containsKey(name)) {
				throw new ParameterException(name, "is unknown; known: " + String.join(", ", parameters.keySet()));
			}
			if (values.size() > 1) {
				throw new ParameterException(name, "is repeated: " + String.join(", ", values));
			}
			if (!StringUtils.hasLength(values.getFirst())) {
				throw new ParameterException(name, "is empty");
			}
		});
		parameters.forEach((name, parameter) -> {
			if (isRequired(parameter) && !query.containsKey(name)) {
				throw new ParameterException(name, "is missing");
			}
		});
	}

	private static Map<String, RequestParam> parameters(HandlerMethod handler) {
		Map<String, RequestParam> parameters = new LinkedHashMap<>();
		for (Parameter parameter : handler.getMethod().getParameters()) {
			RequestParam declared = parameter.getAnnotation(RequestParam.class);
			if (declared != null) {
				parameters.put(parameter.getName(), declared);
			}
		}
		return parameters;
	}

	private static boolean isRequired(RequestParam parameter) {
		return parameter.required() && parameter.defaultValue().equals(ValueConstants.DEFAULT_NONE);
	}

	/** Answers 400 where a value is not of the parameter's type. */
	@ExceptionHandler
	ProblemDetail handle(TypeMismatchException ex) {
		return ParameterException.document(String.valueOf(ex.getPropertyName()),
				"is '%s', not %s".formatted(ex.getValue(), QueryFormats.describe(ex.getRequiredType())));
	}

	/** Answers 400 where a value is out of its bounds. */
	@ExceptionHandler
	ProblemDetail handle(HandlerMethodValidationException ex) {
		ParameterValidationResult result = ex.getParameterValidationResults().getFirst();
		return ParameterException.document(String.valueOf(result.getMethodParameter().getParameterName()),
				"is '%s', %s".formatted(result.getArgument(),
						result.getResolvableErrors().getFirst().getDefaultMessage()));
	}

}
