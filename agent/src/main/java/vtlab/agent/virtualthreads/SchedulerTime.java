package vtlab.agent.virtualthreads;

import java.util.Optional;

import vtlab.agent.page.Integral;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The time that virtual threads were on a carrier, and ready without one: a gauge read once a second misses both.
 */
public final class SchedulerTime implements Meters {

	private volatile Optional<Scheduler> scheduler = Optional.empty();

	private final Integral mounted = new Integral();

	private final Integral queued = new Integral();

	@Override
	public void write(Page page) {
		if (this.scheduler.isEmpty()) {
			this.scheduler = Scheduler.ofThisJvm();
		}
		if (this.scheduler.isPresent()) {
			page.counter("jvm_threads_virtual_mounted_seconds_total",
					"Time that virtual threads were on a carrier, in all", this.mounted.value());
			page.counter("jvm_threads_virtual_queued_seconds_total",
					"Time that virtual threads were ready and without a carrier, in all", this.queued.value());
		}
	}

	@Override
	public void sample(double seconds) {
		this.scheduler.ifPresent((known) -> {
			this.mounted.add(known.mounted(), seconds);
			this.queued.add(known.queued(), seconds);
		});
	}

}
