package lab.virtualthreads.cpu;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workload {@code /cpu}.
 *
 * @param maxIterations the longest hash chain a request may ask for, at least 1. 10 million take a second or two of CPU.
 */
@ConfigurationProperties(prefix = "lab.cpu", ignoreUnknownFields = false)
record CpuProperties(@DefaultValue("10000000") long maxIterations) {

	CpuProperties {
		Assert.isTrue(maxIterations >= 1, () -> "lab.cpu.max-iterations must be at least 1, is " + maxIterations);
	}

}
