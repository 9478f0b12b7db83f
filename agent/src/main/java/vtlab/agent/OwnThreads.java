package vtlab.agent;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
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
		Stream.concat(PlatformThreads.of(GROUP), PlatformThreads.all().filter(OwnThreads::isOfFlightRecorder))
			.distinct()
			.forEach((thread) -> {
				long nanoseconds = threads.getThreadCpuTime(thread.threadId());
				page.counter("vtlab_agent_cpu_seconds_total", "CPU time of the agent's threads",
						(nanoseconds < 0) ? Double.NaN : nanoseconds / 1e9, "thread", thread.getName());
			});
	}

	private static boolean isOfFlightRecorder(Thread thread) {
		return thread.getName().startsWith("JFR ");
	}

}
