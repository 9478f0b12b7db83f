package vtlab.agent.cgroup;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Limits, throttling and memory of the process's own control group. What cannot be read has no metric.
 */
public final class CgroupMeters implements Meters {

	private final Cgroup cgroup;

	public CgroupMeters(Cgroup cgroup) {
		this.cgroup = cgroup;
	}

	@Override
	public void write(Page page) {
		page.gauge("cgroup_cpu_limit_cores", "CPU that the process can get", this.cgroup.cpuLimit());
		page.counter("cgroup_cpu_periods_total", "Enforcement periods with something to run", this.cgroup.cpuPeriods());
		page.counter("cgroup_cpu_throttled_periods_total", "Periods in which the CPU quota ran out",
				this.cgroup.cpuThrottledPeriods());
		page.counter("cgroup_cpu_throttled_time_seconds_total", "Time that CPUs were stopped by the quota",
				this.cgroup.cpuThrottledSeconds());
		page.gauge("cgroup_memory_limit_bytes", "Memory that the process can get", this.cgroup.memoryLimit());
		page.gauge("cgroup_memory_usage_bytes", "Memory charged to the group, page cache included",
				this.cgroup.memoryUsage());
	}

}
