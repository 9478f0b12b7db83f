package lab.virtualthreads.downstream;

import java.time.Duration;

import jakarta.validation.constraints.Min;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;
import org.springframework.validation.annotation.Validated;

/**
 * The other process that {@code /downstream} calls, and the bounds of calling it.
 *
 * @param url where it is, such as {@code http://downstream:8080}; null or empty when there is none
 * @param maxConnections how many calls can be under way at once
 * @param connectTimeout how long opening a connection may take
 * @param responseTimeout how long the downstream may stay silent, more than the longest wait that a request may ask for
 * @param leaseTimeout how long a call may queue for a connection of the pool
 */
@Validated
@ConfigurationProperties(prefix = "lab.downstream", ignoreUnknownFields = false)
record DownstreamProperties(@Nullable String url, @DefaultValue("100") @Min(1) int maxConnections,
		@DefaultValue("5s") @DurationMin(nanos = 1) Duration connectTimeout,
		@DefaultValue("65s") @DurationMin(seconds = 60, inclusive = false) Duration responseTimeout,
		@DefaultValue("60s") @DurationMin(nanos = 1) Duration leaseTimeout) {

	DownstreamProperties {
		// A variable of the environment can be there without a value.
		url = StringUtils.hasText(url) ? url : null;
		// No constraint: Spring Boot prints the value that breaks one, and a URL may hold a password.
		Assert.isTrue(url == null || url.matches("https?://[\\w.-]+(:\\d+)?/?"),
				"lab.downstream.url must be like http://downstream:8080, without user, path and query");
	}

}
