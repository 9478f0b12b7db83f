package vtlab.agent.jetty;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;

import vtlab.agent.jvm.PlatformThreads;

/**
 * One of Jetty's pools. It is reached from one of its threads, because Spring Boot registers no MBeans of Jetty's. The
 * agent has opened {@code java.lang} to itself for that.
 *
 * @param pool a {@code QueuedThreadPool} or a {@code VirtualThreadPool} of the service's class loader; the same pool is
 * the same object
 */
record JettyPool(Object pool) {

	private static final String PACKAGE = "org.eclipse.jetty.util.thread.";

	private static final String QUEUED = PACKAGE + "QueuedThreadPool";

	private static final String VIRTUAL = PACKAGE + "VirtualThreadPool";

	/** The name of the platform thread that a {@code VirtualThreadPool} has beside virtual ones. */
	private static final String KEEP_ALIVE = "jetty-virtual-thread-pool-keepalive";

	static List<JettyPool> running() {
		return PlatformThreads.all()
			.filter((thread) -> thread.getName().startsWith("qtp") || thread.getName().equals(KEEP_ALIVE))
			.flatMap((thread) -> outer(thread).or(() -> task(thread).flatMap(JettyPool::outer)).stream())
			.map(JettyPool::new)
			.distinct()
			.toList();
	}

	String name() {
		return Objects.toString(call("getName"), "virtual");
	}

	/** Returns the most threads; NaN where they hand requests to virtual threads, and so limit nothing. */
	double max() {
		return handsOver() ? Double.NaN : number("getMaxThreads");
	}

	/**
	 * Returns the most threads for requests: without acceptors and selectors, where these are of the pool. NaN as for
	 * {@link #max()}.
	 */
	double forRequests() {
		return (handsOver() || isVirtual()) ? max() : number("getMaxAvailableThreads");
	}

	boolean servesOnVirtualThreads() {
		return isVirtual() || handsOver();
	}

	/** Returns the number of threads; NaN where Jetty does not count them, because virtual threads are not pooled. */
	double current() {
		double threads = number("getThreads");
		return (threads >= 0) ? threads : Double.NaN;
	}

	double queued() {
		if (!isVirtual()) {
			return number("getQueueSize");
		}
		return (field(this.pool, "_semaphore") instanceof Semaphore permits) ? permits.getQueueLength() : Double.NaN;
	}

	double utilized() {
		if (!isVirtual()) {
			return number("getUtilizedThreads");
		}
		return (field(this.pool, "_semaphore") instanceof Semaphore permits) ? max() - permits.availablePermits()
				: Double.NaN;
	}

	@Override
	public boolean equals(Object other) {
		return other instanceof JettyPool that && that.pool == this.pool;
	}

	@Override
	public int hashCode() {
		return System.identityHashCode(this.pool);
	}

	private boolean handsOver() {
		return !isVirtual() && call("getVirtualThreadsExecutor") != null;
	}

	private boolean isVirtual() {
		return this.pool.getClass().getName().equals(VIRTUAL);
	}

	private double number(String getter) {
		return (call(getter) instanceof Number number) ? number.doubleValue() : Double.NaN;
	}

	private Object call(String getter) {
		try {
			return this.pool.getClass().getMethod(getter).invoke(this.pool);
		}
		catch (ReflectiveOperationException | RuntimeException ex) {
			return null;
		}
	}

	private static Optional<Object> task(Thread thread) {
		return Optional.ofNullable(field(thread, "holder")).map((holder) -> field(holder, "task"));
	}

	/** Returns the pool that an object belongs to, if the object's class is an inner class of a pool's. */
	private static Optional<Object> outer(Object inner) {
		return Stream.of(inner.getClass().getDeclaredFields())
			.filter((field) -> List.of(QUEUED, VIRTUAL).contains(field.getType().getName()))
			.map((field) -> value(inner, field))
			.filter(Objects::nonNull)
			.findFirst();
	}

	private static Object field(Object object, String name) {
		for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
			for (Field field : type.getDeclaredFields()) {
				if (field.getName().equals(name)) {
					return value(object, field);
				}
			}
		}
		return null;
	}

	private static Object value(Object object, Field field) {
		try {
			field.setAccessible(true);
			return field.get(object);
		}
		catch (ReflectiveOperationException | RuntimeException ex) {
			return null;
		}
	}

}
