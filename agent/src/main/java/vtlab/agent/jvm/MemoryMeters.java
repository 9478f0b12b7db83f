package vtlab.agent.jvm;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The memory pools of the JVM. A pool without a maximum says -1.
 */
public final class MemoryMeters implements Meters {

	@Override
	public void write(Page page) {
		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
			MemoryUsage usage = pool.getUsage();
			if (usage != null) {
				String[] labels = { "area", (pool.getType() == MemoryType.HEAP) ? "heap" : "nonheap", "id",
						pool.getName() };
				page.gauge("jvm_memory_used_bytes", "Memory used", usage.getUsed(), labels);
				page.gauge("jvm_memory_committed_bytes", "Memory that the JVM has", usage.getCommitted(), labels);
				page.gauge("jvm_memory_max_bytes", "Memory that there may be", usage.getMax(), labels);
			}
		}
	}

}
