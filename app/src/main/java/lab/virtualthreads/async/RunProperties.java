package lab.virtualthreads.async;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * Bounds of the workloads {@code /run} and the size of their bounded pool.
 *
 * @param tasks the tasks of a request that does not say how many, from 1 to {@code maxTasks}
 * @param maxTasks the most tasks a request may ask for. More than {@code max} and {@code queue} together are rejected in
 * part by the bounded pool.
 * @param maxLimit up to which number a request may have primes counted, at least 2. One task up to 1,000,000 takes about
 * a tenth of a second of CPU.
 * @param core the threads of the bounded pool while its queue is not full, at least 1
 * @param max its threads once the queue is full, at least {@code core}
 * @param queue the tasks that wait in it, at least 0
 * @param executor the executor of a request that names none; null when a request must
 */
@ConfigurationProperties(prefix = "lab.run", ignoreUnknownFields = false)
record RunProperties(@DefaultValue("1000") int tasks, @DefaultValue("10000") int maxTasks,
		@DefaultValue("1000000") int maxLimit, @DefaultValue("50") int core, @DefaultValue("100") int max,
		@DefaultValue("1000") int queue, @Nullable RunExecutor executor) {

	RunProperties {
		Assert.isTrue(tasks >= 1 && tasks <= maxTasks,
				() -> "lab.run.tasks must be from 1 to lab.run.max-tasks (" + maxTasks + "), is " + tasks);
		Assert.isTrue(maxLimit >= 2, () -> "lab.run.max-limit must be at least 2, is " + maxLimit);
		Assert.isTrue(core >= 1, () -> "lab.run.core must be at least 1, is " + core);
		Assert.isTrue(max >= core, () -> "lab.run.max must be at least lab.run.core (" + core + "), is " + max);
		Assert.isTrue(queue >= 0, () -> "lab.run.queue must be at least 0, is " + queue);
	}

}
