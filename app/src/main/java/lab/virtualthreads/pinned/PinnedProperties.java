package lab.virtualthreads.pinned;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workload {@code /pinned}.
 *
 * @param maxDuration the longest wait a request may ask for, more than zero
 * @param lock the lock of a request that names none; null when a request must
 */
@ConfigurationProperties(prefix = "lab.pinned", ignoreUnknownFields = false)
record PinnedProperties(@DefaultValue("60s") Duration maxDuration, @Nullable LockKind lock) {

	PinnedProperties {
		Assert.isTrue(maxDuration.isPositive(), () -> "lab.pinned.max-duration must be more than 0, is " + maxDuration);
	}

}
