package lab.virtualthreads.thread;

import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workload {@code /thread}.
 *
 * @param maxDuration the longest wait a request may ask for, more than zero
 */
@ConfigurationProperties(prefix = "lab.thread", ignoreUnknownFields = false)
record ThreadProperties(@DefaultValue("60s") Duration maxDuration) {

	ThreadProperties {
		Assert.isTrue(maxDuration.isPositive(), () -> "lab.thread.max-duration must be more than 0, is " + maxDuration);
	}

}
