package lab.virtualthreads.fanout;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workload {@code /fan-out}. All three at once take minutes: a pool of 8 works through 1000 waits of 1 s in
 * 125 s.
 *
 * @param maxTasks the most tasks a request may ask for, at least 1
 * @param maxDuration the longest wait a task may have, more than zero
 * @param maxIterations the longest hash chain a task may have, at least 1. The default is what was published.
 * @param executor the executor of a request that names none; null when a request must
 */
@ConfigurationProperties(prefix = "lab.fan-out", ignoreUnknownFields = false)
record FanOutProperties(@DefaultValue("1000") int maxTasks, @DefaultValue("1s") Duration maxDuration,
		@DefaultValue("500000") long maxIterations, @Nullable FanOutExecutor executor) {

	FanOutProperties {
		Assert.isTrue(maxTasks >= 1, () -> "lab.fan-out.max-tasks must be at least 1, is " + maxTasks);
		Assert.isTrue(maxDuration.isPositive(),
				() -> "lab.fan-out.max-duration must be more than 0, is " + maxDuration);
		Assert.isTrue(maxIterations >= 1, () -> "lab.fan-out.max-iterations must be at least 1, is " + maxIterations);
	}

}
