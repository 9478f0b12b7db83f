package lab.virtualthreads.async;

import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.LongAdder;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * A counter of the tasks that a pool rejects, beside the meters that Spring Boot gives to it.
 */
class RejectedTasks extends ThreadPoolExecutor.AbortPolicy implements MeterBinder {

	private final LongAdder count = new LongAdder();

	private final String name;

	RejectedTasks(String name) {
		this.name = name;
	}

	@Override
	public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
		this.count.increment();
		super.rejectedExecution(task, executor);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		FunctionCounter.builder("executor.rejected", this.count, LongAdder::sum)
			.tag("name", this.name)
			.baseUnit("tasks")
			.description("Tasks that the executor rejected, its threads busy and its queue full")
			.register(registry);
	}

}
