package vtlab.agent.virtualthreads;

import java.lang.reflect.Method;
import java.util.stream.Stream;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The number of virtual threads that have started and not ended, waiting ones included. The JDK keeps them all for its
 * thread dumps, in containers that it shows nobody; the agent has opened {@code jdk.internal.vm} to itself for that. No
 * metric with {@code -Djdk.trackAllThreads=false}.
 */
public final class AliveVirtualThreads implements Meters {

	@Override
	public void write(Page page) {
		page.gauge("jvm_threads_virtual_alive_threads", "Virtual threads that have started and not ended", count());
	}

	private static double count() {
		try {
			Class<?> containers = Class.forName("jdk.internal.vm.ThreadContainers");
			if (!(boolean) containers.getMethod("trackAllThreads").invoke(null)) {
				return Double.NaN;
			}
			Class<?> container = Class.forName("jdk.internal.vm.ThreadContainer");
			return below(containers.getMethod("root").invoke(null), container.getMethod("threads"),
					container.getMethod("children"));
		}
		catch (ReflectiveOperationException | RuntimeException ex) {
			return Double.NaN;
		}
	}

	private static long below(Object container, Method threads, Method children) throws ReflectiveOperationException {
		long count = ((Stream<?>) threads.invoke(container)).filter((thread) -> ((Thread) thread).isVirtual()).count();
		for (Object child : ((Stream<?>) children.invoke(container)).toList()) {
			count += below(child, threads, children);
		}
		return count;
	}

}
