package lab.virtualthreads.web;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.util.StringUtils;

/**
 * The values of a request's query, all of them checked: the only way from a query to a {@link Parameter}'s value.
 * A load test that misspells a parameter must not measure something else without saying so, therefore each parameter
 * must be there exactly once, or not at all where it has a value for that, and no other may be.
 */
public final class Parameters {

	private final Map<Parameter<?>, Object> values = new HashMap<>();

	private Parameters() {
	}

	/**
	 * Reads a query that must consist of exactly these parameters.
	 * @throws InvalidParameterException when one is unknown, missing, repeated, blank, malformed or out of its bounds,
	 * answered as 400 with a problem document that names it
	 */
	public static Parameters read(HttpServletRequest request, Parameter<?>... known) {
		return read(request.getQueryString(), known);
	}

	/**
	 * The same for a request of the variant {@code reactive}.
	 */
	public static Parameters read(ServerHttpRequest request, Parameter<?>... known) {
		return read(request.getURI().getRawQuery(), known);
	}

	private static Parameters read(@Nullable String undecoded, Parameter<?>... known) {
		MultiValueMap<String, String> query = decode(undecoded);
		rejectUnknown(query, known);
		Parameters parameters = new Parameters();
		for (Parameter<?> parameter : known) {
			List<String> given = query.getOrDefault(parameter.name(), List.of());
			if (given.isEmpty() && parameter.orElse() != null) {
				parameters.values.put(parameter, parameter.orElse());
				continue;
			}
			if (given.size() != 1) {
				throw new InvalidParameterException(parameter.name(), given.isEmpty() ? null : given,
						"exactly once, " + parameter.allowed());
			}
			parameters.values.put(parameter, parameter.parse(given.getFirst()));
		}
		return parameters;
	}

	/**
	 * The value of one of the parameters that were read.
	 */
	@SuppressWarnings("unchecked")
	public <T extends Comparable<T>> T get(Parameter<T> parameter) {
		return (T) this.values.get(parameter);
	}

	/**
	 * Decodes the query here because the container's exception for a bad one does not say which parameter it was.
	 */
	private static MultiValueMap<String, String> decode(@Nullable String query) {
		MultiValueMap<String, String> decoded = new LinkedMultiValueMap<>();
		for (String pair : StringUtils.tokenizeToStringArray(query, "&")) {
			String name = pair.contains("=") ? pair.substring(0, pair.indexOf('=')) : pair;
			String value = pair.contains("=") ? pair.substring(pair.indexOf('=') + 1) : "";
			try {
				decoded.add(URLDecoder.decode(name, StandardCharsets.UTF_8),
						URLDecoder.decode(value, StandardCharsets.UTF_8));
			}
			catch (IllegalArgumentException ex) {
				throw new InvalidParameterException(name, value, "percent-encoded UTF-8");
			}
		}
		return decoded;
	}

	private static void rejectUnknown(MultiValueMap<String, String> query, Parameter<?>... known) {
		List<String> names = Arrays.stream(known).map(Parameter::name).toList();
		query.forEach((name, given) -> {
			if (!names.contains(name)) {
				throw new InvalidParameterException(name, (given.size() == 1) ? given.getFirst() : given,
						"no parameter but " + String.join(", ", names));
			}
		});
	}

}
