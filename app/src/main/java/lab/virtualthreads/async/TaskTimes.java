package lab.virtualthreads.async;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.jspecify.annotations.Nullable;

/**
 * A timer of each task on an executor, beside the meters that Spring Boot gives to it, and under the name that
 * Micrometer's own timer has.
 */
class TaskTimes implements MeterBinder {

	private final String name;

	private volatile @Nullable Timer timer;

	TaskTimes(String name) {
		this.name = name;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.timer = Timer.builder("executor")
			.tag("name", this.name)
			.description("Time that tasks took on a thread of the executor")
			.register(registry);
	}

	/**
	 * Decorates a task so that its time is taken. Not by a {@code TaskDecorator}: Spring Boot would have its own
	 * executor use that.
	 */
	Runnable timed(Runnable task) {
		Timer timer = this.timer;
		return (timer != null) ? timer.wrap(task) : task;
	}

}
