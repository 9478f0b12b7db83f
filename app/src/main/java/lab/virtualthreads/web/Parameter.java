package lab.virtualthreads.web;

import java.time.Duration;
import java.util.function.Function;

import org.springframework.boot.convert.DurationStyle;

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

	private Parameter(String name, T least, T most, Function<String, T> parser, String allowed) {
		this.name = name;
		this.least = least;
		this.most = most;
		this.parser = parser;
		this.allowed = allowed;
	}

	/**
	 * A duration as Spring Boot writes it: {@code 50ms}, {@code 5s}, {@code PT5S}; a number alone is milliseconds.
	 */
	public static Parameter<Duration> duration(String name, Duration least, Duration most) {
		return new Parameter<>(name, least, most, DurationStyle::detectAndParse,
				"a duration such as 50ms or 5s, from " + text(least) + " to " + text(most));
	}

	/**
	 * A whole number in decimal digits.
	 */
	public static Parameter<Long> wholeNumber(String name, long least, long most) {
		return new Parameter<>(name, least, most, Parameter::parseWholeNumber,
				"a whole number from " + least + " to " + most);
	}

	String name() {
		return this.name;
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
