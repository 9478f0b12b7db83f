package lab.virtualthreads.pinned;

import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of {@code /locked-out}.
 *
 * @param maxTimeout the longest time-out a request may ask for, at least 1 second
 */
@ConfigurationProperties(prefix = "lab.locked-out", ignoreUnknownFields = false)
record LockedOutProperties(@DefaultValue("10s") Duration maxTimeout) {

	/** A busy machine needs some of it to start the threads. */
	static final Duration LEAST_TIMEOUT = Duration.ofSeconds(1);

	LockedOutProperties {
		Assert.isTrue(maxTimeout.compareTo(LEAST_TIMEOUT) >= 0,
				() -> "lab.locked-out.max-timeout must be at least 1s, is " + maxTimeout);
	}

}
