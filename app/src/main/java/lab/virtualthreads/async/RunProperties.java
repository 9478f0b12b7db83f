package lab.virtualthreads.async;

import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.Min;
import org.hibernate.validator.constraints.Range;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Defaults of the workloads {@code /run} and the size of their bounded pool.
 *
 * @param tasks the tasks of a request that does not say how many. More than {@code max} and {@code queue} together are
 * rejected in part by the bounded pool.
 * @param core the threads of the bounded pool while its queue is not full
 * @param max its threads once the queue is full, at least {@code core}
 * @param queue the tasks that wait in it
 * @param executor the executor of a request that names none; null when a request must
 */
@Validated
@ConfigurationProperties(prefix = "lab.run", ignoreUnknownFields = false)
record RunProperties(@DefaultValue("1000") @Range(min = 1, max = 10_000) int tasks,
		@DefaultValue("50") @Min(1) int core, @DefaultValue("100") int max,
		@DefaultValue("1000") @Min(0) int queue, @Nullable RunExecutor executor) {

	@AssertTrue(message = "lab.run.max must be at least lab.run.core")
	boolean isMaxAtLeastCore() {
		return this.max >= this.core;
	}

}
