package vtlab.agent.virtualthreads;

import java.util.Optional;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The scheduler: carriers that it aims at and has, virtual threads on one, and those that wait for one.
 */
public final class SchedulerMeters implements Meters {

	private volatile Optional<Scheduler> scheduler = Optional.empty();

	@Override
	public void write(Page page) {
		if (this.scheduler.isEmpty()) {
			this.scheduler = Scheduler.ofThisJvm();
		}
		this.scheduler.ifPresent((known) -> write(page, known));
	}

	private static void write(Page page, Scheduler known) {
		page.gauge("jvm_threads_virtual_parallelism", "Carriers that the scheduler aims at", known.parallelism());
		page.gauge("jvm_threads_virtual_pool_size_threads", "Carriers that the scheduler has", known.poolSize());
		String live = "Virtual threads that run, and those that could and have no carrier";
		page.gauge("jvm_threads_virtual_live_threads", live, known.mounted(), "scheduling_status", "mounted");
		page.gauge("jvm_threads_virtual_live_threads", live, known.queued(), "scheduling_status", "queued");
	}

}
