package vtlab.agent;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import vtlab.agent.cgroup.Cgroup;
import vtlab.agent.cgroup.CgroupMeters;
import vtlab.agent.hikari.HikariMeters;
import vtlab.agent.jetty.JettyMeters;
import vtlab.agent.jvm.ClassArchives;
import vtlab.agent.jvm.GcMeters;
import vtlab.agent.jvm.JitThreads;
import vtlab.agent.jvm.MemoryMeters;
import vtlab.agent.jvm.RuntimeMeters;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;
import vtlab.agent.process.ProcessMeters;
import vtlab.agent.process.ResidentMemory;
import vtlab.agent.tomcat.TomcatMeters;
import vtlab.agent.virtualthreads.AliveVirtualThreads;
import vtlab.agent.virtualthreads.Carriers;
import vtlab.agent.virtualthreads.PinnedThreads;
import vtlab.agent.virtualthreads.SchedulerMeters;
import vtlab.agent.virtualthreads.SchedulerTime;

/**
 * All metrics. It looks at nothing before the first page: until then the service starts as if there were no agent, and
 * may still decide on its logging, its MBeans and its scheduler. What costs CPU time between pages can be stopped; the
 * next page begins it anew.
 */
final class Instrument {

	private final List<Meters> meters = new ArrayList<>();

	private Duration pinned;

	private Sampler sampler;

	private PinnedThreads pinnedThreads;

	Instrument(Duration pinned) {
		this.pinned = pinned;
	}

	synchronized Page page() {
		if (this.meters.isEmpty()) {
			this.meters.addAll(all());
		}
		if (this.sampler == null) {
			begin();
		}
		Page page = new Page();
		for (Meters group : this.meters) {
			write(group, page);
		}
		write(this.sampler, page);
		if (this.pinnedThreads != null) {
			write(this.pinnedThreads, page);
		}
		return page;
	}

	/** Sets another threshold for pinnings, from now on. */
	synchronized void setPinningThreshold(Duration threshold) {
		this.pinned = threshold;
		if (this.pinnedThreads != null) {
			this.pinnedThreads.setThreshold(threshold);
		}
	}

	/** Stops reading and recording until the next page. */
	synchronized void rest() {
		if (this.sampler != null) {
			this.sampler.close();
			this.sampler = null;
		}
		if (this.pinnedThreads != null) {
			this.pinnedThreads.close();
			this.pinnedThreads = null;
		}
	}

	private static List<Meters> all() {
		return List.of(new ProcessMeters(), new ResidentMemory(), new CgroupMeters(Cgroup.ofThisProcess()),
				new MemoryMeters(), new GcMeters(), new RuntimeMeters(), new JitThreads(), new ClassArchives(),
				new TomcatMeters(), new JettyMeters(), new HikariMeters(), new SchedulerMeters(), new SchedulerTime(),
				new Carriers(), new AliveVirtualThreads(), new OwnThreads());
	}

	private void begin() {
		record();
		this.sampler = new Sampler(List.copyOf(this.meters), Cgroup.ofThisProcess().cpuLimit().orElse(1));
		this.sampler.start();
	}

	/** Starts to record pinnings. Flight Recorder can be missing, or have no place for its files. */
	private void record() {
		try {
			PinnedThreads recorded = new PinnedThreads(this.pinned);
			this.pinnedThreads = recorded;
			OwnThreads.named("pinned", recorded::run).start();
		}
		catch (Exception | LinkageError ex) {
			Console.say("Flight Recorder does not run, so pinned threads are not counted: " + ex);
		}
	}

	private static void write(Meters group, Page page) {
		try {
			group.write(page);
		}
		catch (Exception | LinkageError ex) {
			Console.say(group.getClass().getSimpleName() + " has no metrics: " + ex);
		}
	}

}
