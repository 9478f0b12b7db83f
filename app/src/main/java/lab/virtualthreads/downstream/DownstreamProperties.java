package lab.virtualthreads.downstream;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * The other process that {@code /downstream} calls, and the bounds of calling it.
 *
 * @param url where it is, such as {@code http://downstream:8080}; null or empty when there is none
 * @param maxConnections how many calls can be under way at once, at least 1
 * @param maxDuration the longest wait a request may ask for, more than zero
 * @param connectTimeout how long opening a connection may take, more than zero
 * @param responseTimeout how long the downstream may stay silent, more than {@code maxDuration}
 * @param leaseTimeout how long a call may queue for a connection of the pool, more than zero
 */
@ConfigurationProperties(prefix = "lab.downstream", ignoreUnknownFields = false)
record DownstreamProperties(@Nullable String url, @DefaultValue("100") int maxConnections,
		@DefaultValue("60s") Duration maxDuration, @DefaultValue("5s") Duration connectTimeout,
		@DefaultValue("65s") Duration responseTimeout, @DefaultValue("60s") Duration leaseTimeout) {

	DownstreamProperties {
		// A variable of the environment can be there without a value.
		url = StringUtils.hasText(url) ? url : null;
		Assert.isTrue(url == null || url.matches("https?://[\\w.-]+(:\\d+)?/?"),
				"lab.downstream.url must be like http://downstream:8080, without user, path and query");
		Assert.isTrue(maxConnections >= 1,
				() -> "lab.downstream.max-connections must be at least 1, is " + maxConnections);
		positive("max-duration", maxDuration);
		positive("connect-timeout", connectTimeout);
		positive("lease-timeout", leaseTimeout);
		Assert.isTrue(responseTimeout.compareTo(maxDuration) > 0,
				() -> "lab.downstream.response-timeout must be more than lab.downstream.max-duration, %s, is %s"
					.formatted(maxDuration, responseTimeout));
	}

	private static void positive(String property, Duration value) {
		Assert.isTrue(value.isPositive(),
				() -> "lab.downstream.%s must be more than 0, is %s".formatted(property, value));
	}

}
