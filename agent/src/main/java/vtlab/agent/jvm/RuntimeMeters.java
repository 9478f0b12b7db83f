package vtlab.agent.jvm;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Identity of the JVM, its platform threads, and how long its compiler has compiled.
 */
public final class RuntimeMeters implements Meters {

	@Override
	public void write(Page page) {
		page.gauge("jvm_info", "The JVM", 1, "runtime", property("java.runtime.name"), "vendor",
				property("java.vm.vendor"), "version", property("java.runtime.version"));
		page.gauge("jvm_gc_info", "The garbage collector in use", 1, "name", Jvm.gc());
		page.gauge("process_start_time_seconds", "When the JVM started, since the epoch",
				ManagementFactory.getRuntimeMXBean().getStartTime() / 1000.0);
		compiler(page);
		threads(page);
	}

	private static void compiler(Page page) {
		CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
		if (compiler != null && compiler.isCompilationTimeMonitoringSupported()) {
			page.counter("jvm_compilation_time_ms_total", "Time that the compiler's threads have compiled",
					compiler.getTotalCompilationTime(), "compiler", compiler.getName());
		}
	}

	private static void threads(Page page) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		page.gauge("jvm_threads_live_threads", "Platform threads", threads.getThreadCount());
		Map<Thread.State, Integer> states = new EnumMap<>(Thread.State.class);
		for (Thread.State state : Thread.State.values()) {
			states.put(state, 0);
		}
		Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
			.filter(Objects::nonNull)
			.map(ThreadInfo::getThreadState)
			.forEach((state) -> states.merge(state, 1, Integer::sum));
		states.forEach((state, count) -> page.gauge("jvm_threads_states_threads", "Platform threads by state", count,
				"state", state.name().toLowerCase(Locale.ROOT).replace('_', '-')));
	}

	private static String property(String name) {
		return System.getProperty(name, "unknown");
	}

}
