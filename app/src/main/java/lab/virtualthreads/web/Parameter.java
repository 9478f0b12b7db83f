package lab.virtualthreads.web;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.util.Assert;

/**
 * What a workload accepts under one name of its query: a type and its bounds, both included.
 *
 * @param <T> the type of the value
 * @see Parameters
 */
public final class Parameter<T extends Comparable<T>> {

	private final String name;

	private final T least;

	private final T most;

	private final Function<String, T> parser;

	private final String allowed;

	private final @Nullable T orElse;

	private Parameter(String name, T least, T most, Function<String, T> parser, String allowed, @Nullable T orElse) {
		this.name = name;
		this.least = least;
		this.most = most;
		this.parser = parser;
		this.allowed = allowed;
		this.orElse = orElse;
	}

	/**
	 * A duration as Spring Boot writes it: {@code 50ms}, {@code 5s}, {@code PT5S}; a number alone is milliseconds.
	 */
	public static Parameter<Duration> duration(String name, Duration least, Duration most) {
		return new Parameter<>(name, least, most, DurationStyle::detectAndParse,
				"a duration such as 50ms or 5s, from " + text(least) + " to " + text(most), null);
	}

	/**
	 * A whole number in decimal digits.
	 */
	public static Parameter<Long> wholeNumber(String name, long least, long most) {
		return new Parameter<>(name, least, most, Parameter::parseWholeNumber,
				"a whole number from " + least + " to " + most, null);
	}

	/**
	 * One of the constants of an enum, in lower case.
	 */
	public static <E extends Enum<E>> Parameter<E> oneOf(String name, Class<E> type) {
		Map<String, E> known = new LinkedHashMap<>();
		E[] constants = type.getEnumConstants();
		for (E constant : constants) {
			known.put(constant.name().toLowerCase(Locale.ROOT), constant);
		}
		return new Parameter<>(name, constants[0], constants[constants.length - 1], (text) -> {
			Assert.isTrue(known.containsKey(text), "unknown");
			return known.get(text);
		}, "one of " + String.join(", ", known.keySet()), null);
	}

	/**
	 * The same, with a value for a query that does not have it; with null a query must.
	 */
	public Parameter<T> orElse(@Nullable T value) {
		return new Parameter<>(this.name, this.least, this.most, this.parser, this.allowed, value);
	}

	String name() {
		return this.name;
	}

	@Nullable T orElse() {
		return this.orElse;
	}

	String allowed() {
		return this.allowed;
	}

	/**
	 * Turns the text of a request into a value within the bounds.
	 * @throws InvalidParameterException when it is anything else
	 */
	T parse(String text) {
		T value;
		try {
			value = this.parser.apply(text);
		}
		// Text that is no duration, and one too long for the type (not the same exception).
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw new InvalidParameterException(this.name, text, this.allowed);
		}
		if (value.compareTo(this.least) < 0 || value.compareTo(this.most) > 0) {
			throw new InvalidParameterException(this.name, text, this.allowed);
		}
		return value;
	}

	private static Long parseWholeNumber(String text) {
		// Long.parseLong would also take a plus sign and the digits of other scripts.
		if (!text.matches("-?[0-9]+")) {
			throw new NumberFormatException();
		}
		return Long.parseLong(text);
	}

	private static String text(Duration duration) {
		if (duration.toNanosPart() == 0) {
			return duration.toSeconds() + "s";
		}
		return (duration.toNanos() % 1_000_000 == 0) ? duration.toMillis() + "ms" : duration.toString();
	}

}
