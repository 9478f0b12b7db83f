package lab.virtualthreads.web;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.core.convert.converter.Converter;
import org.springframework.core.convert.converter.GenericConverter;

/**
 * The formats of values in a query, on both servers.
 */
@Configuration(proxyBeanMethods = false)
class QueryFormats {

	private static final Pattern DRAWN = Pattern.compile("exp\\((.*)\\)");

	/**
	 * Converts durations as Spring Boot writes them: {@code 50ms}, {@code 5s}, {@code PT5S}; a number alone is
	 * milliseconds.
	 */
	@Bean
	Converter<String, Duration> durations() {
		return new Converter<>() {
			@Override
			public Duration convert(String text) {
				return parse(text, false).mean();
			}
		};
	}

	/** Converts a duration, or {@code exp(…)} with one. */
	@Bean
	Converter<String, Wait> waits() {
		return new Converter<>() {
			@Override
			public Wait convert(String text) {
				Matcher drawn = DRAWN.matcher(text);
				return drawn.matches() ? parse(drawn.group(1), true) : parse(text, false);
			}
		};
	}

	private static Wait parse(String mean, boolean isDrawn) {
		return new Wait(DurationStyle.detectAndParse(mean), isDrawn);
	}

	/** Converts the constants of enums, in lower case. */
	@Bean
	GenericConverter lowerCaseConstants() {
		return new GenericConverter() {
			@Override
			public Set<ConvertiblePair> getConvertibleTypes() {
				return Set.of(new ConvertiblePair(String.class, Enum.class));
			}

			@Override
			@SuppressWarnings({ "rawtypes", "unchecked" })
			public Object convert(@Nullable Object text, TypeDescriptor string, TypeDescriptor type) {
				return Enum.valueOf((Class) type.getType(), String.valueOf(text).toUpperCase(Locale.ROOT));
			}
		};
	}

	/** Describes what a value of a type looks like. */
	static String describe(@Nullable Class<?> type) {
		if (type == Duration.class) {
			return "a duration such as 50ms or 5s, at least 0s";
		}
		if (type == Wait.class) {
			return describe(Duration.class) + ", or exp(5s), drawn from an exponential distribution with that mean";
		}
		if (type != null && type.isEnum()) {
			return Arrays.stream(type.getEnumConstants())
				.map((constant) -> ((Enum<?>) constant).name().toLowerCase(Locale.ROOT))
				.collect(Collectors.joining(", ", "one of ", ""));
		}
		return "a whole number";
	}

}
