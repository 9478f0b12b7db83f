package lab.virtualthreads.mixed;

import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workload {@code /mixed}.
 *
 * @param maxDuration the longest wait a request may ask for, more than zero
 * @param maxIterations the longest hash chain a request may ask for, at least 1
 */
@ConfigurationProperties(prefix = "lab.mixed", ignoreUnknownFields = false)
record MixedProperties(@DefaultValue("60s") Duration maxDuration, @DefaultValue("1000000") long maxIterations) {

	MixedProperties {
		Assert.isTrue(maxDuration.isPositive(), () -> "lab.mixed.max-duration must be more than 0, is " + maxDuration);
		Assert.isTrue(maxIterations >= 1, () -> "lab.mixed.max-iterations must be at least 1, is " + maxIterations);
	}

}
