package vtlab.agent.jvm;

import java.util.Arrays;
import java.util.stream.Stream;

/**
 * The JVM's platform threads, carriers among them.
 */
public final class PlatformThreads {

	private PlatformThreads() {
	}

	/** Returns the platform threads that are alive now. */
	public static Stream<Thread> all() {
		ThreadGroup root = Thread.currentThread().getThreadGroup();
		while (root.getParent() != null) {
			root = root.getParent();
		}
		return of(root);
	}

	/** Returns the threads of a group and of the groups below it. */
	public static Stream<Thread> of(ThreadGroup group) {
		// Some may start meanwhile; what does not fit is left out.
		Thread[] threads = new Thread[2 * group.activeCount() + 8];
		return Arrays.stream(threads, 0, group.enumerate(threads));
	}

}
