package lab.virtualthreads.web;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.core.convert.converter.Converter;
import org.springframework.core.convert.converter.GenericConverter;
import org.springframework.util.Assert;

/**
 * How a query writes values, on both servers.
 */
@Configuration(proxyBeanMethods = false)
class QueryFormats {

	/** As Spring Boot writes durations: {@code 50ms}, {@code 5s}, {@code PT5S}; a number alone is milliseconds. */
	@Bean
	Converter<String, Duration> durations() {
		return new Converter<>() {
			@Override
			public Duration convert(String text) {
				Duration duration = DurationStyle.detectAndParse(text);
				Assert.isTrue(!duration.isNegative(), "A wait cannot be negative");
				return duration;
			}
		};
	}

	/** The constants of enums, in lower case. */
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

	/** What a value of a type looks like. */
	static String describe(@Nullable Class<?> type) {
		if (type == Duration.class) {
			return "a duration such as 50ms or 5s, at least 0s";
		}
		if (type != null && type.isEnum()) {
			return Arrays.stream(type.getEnumConstants())
				.map((constant) -> ((Enum<?>) constant).name().toLowerCase(Locale.ROOT))
				.collect(Collectors.joining(", ", "one of ", ""));
		}
		return "a whole number";
	}

}
