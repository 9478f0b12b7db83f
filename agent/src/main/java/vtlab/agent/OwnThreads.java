package vtlab.agent;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import vtlab.agent.jvm.PlatformThreads;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The agent's threads, and the CPU time that they took. Flight Recorder's count among them: without the agent a service
 * has them only where it records events itself.
 */
final class OwnThreads implements Meters {

	private static final ThreadGroup GROUP = new ThreadGroup("vtlab-agent");

	static Thread named(String name, Runnable task) {
		Thread thread = new Thread(GROUP, task, "vtlab-agent-" + name);
		// The service ends when it wants to.
		thread.setDaemon(true);
		return thread;
	}

	static Thread http(Runnable task) {
		return named("http", task);
	}

	@Override
	public void write(Page page) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		// A thread that ends may be there with the next of its name, and Prometheus takes one sample of a series.
		Map<String, Long> nanosecondsByName = new TreeMap<>();
		Stream.concat(PlatformThreads.of(GROUP), PlatformThreads.all().filter(OwnThreads::isOfFlightRecorder))
			.distinct()
			.forEach((thread) -> {
				long nanoseconds = threads.getThreadCpuTime(thread.threadId());
				if (nanoseconds >= 0) {
					nanosecondsByName.merge(thread.getName(), nanoseconds, Long::sum);
				}
			});
		nanosecondsByName.forEach((name, nanoseconds) -> page.counter("vtlab_agent_cpu_seconds_total",
				"CPU time of the agent's threads", nanoseconds / 1e9, "thread", name));
	}

	private static boolean isOfFlightRecorder(Thread thread) {
		return thread.getName().startsWith("JFR ");
	}

}
