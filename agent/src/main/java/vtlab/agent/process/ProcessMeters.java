package vtlab.agent.process;

import java.lang.management.ManagementFactory;

import com.sun.management.OperatingSystemMXBean;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * CPU time of the process, and the processors that the JVM sees.
 */
public final class ProcessMeters implements Meters {

	@Override
	public void write(Page page) {
		OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
		long nanoseconds = system.getProcessCpuTime();
		page.counter("process_cpu_time_ns_total", "CPU time of the process",
				(nanoseconds < 0) ? Double.NaN : nanoseconds);
		page.gauge("system_cpu_count", "Processors that the JVM sees", Runtime.getRuntime().availableProcessors());
	}

}
