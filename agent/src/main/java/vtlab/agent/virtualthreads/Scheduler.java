package vtlab.agent.virtualthreads;

import java.lang.management.ManagementFactory;
import java.lang.management.PlatformManagedObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The scheduler of virtual threads: its MXBean from JDK 24 on. Before, the pool behind it, from which that MXBean would
 * read the same; the agent has opened {@code java.lang} to itself for that.
 */
interface Scheduler {

	double parallelism();

	double poolSize();

	double mounted();

	double queued();

	/** Returns the scheduler; empty where the JVM lets nobody see it. */
	static Optional<Scheduler> ofThisJvm() {
		return bean().or(Scheduler::pool);
	}

	private static Optional<Scheduler> bean() {
		try {
			Class<? extends PlatformManagedObject> type = Class.forName("jdk.management.VirtualThreadSchedulerMXBean")
				.asSubclass(PlatformManagedObject.class);
			return Optional.ofNullable(ManagementFactory.getPlatformMXBean(type)).map((bean) -> new Bean(bean, type));
		}
		catch (ClassNotFoundException ex) {
			return Optional.empty();
		}
	}

	private static Optional<Scheduler> pool() {
		try {
			Field field = Class.forName("java.lang.VirtualThread").getDeclaredField("DEFAULT_SCHEDULER");
			field.setAccessible(true);
			return Optional.of(field.get(null))
				.filter(ForkJoinPool.class::isInstance)
				.map((pool) -> new Pool((ForkJoinPool) pool));
		}
		catch (ReflectiveOperationException | RuntimeException ex) {
			return Optional.empty();
		}
	}

	/** The scheduler by its MXBean, which JDK 21 to compile with does not have. */
	final class Bean implements Scheduler {

		private final Object bean;

		private final Map<String, Method> getters;

		private Bean(Object bean, Class<?> type) {
			this.bean = bean;
			this.getters = Arrays.stream(type.getMethods())
				.filter((method) -> method.getParameterCount() == 0)
				.collect(Collectors.toMap(Method::getName, Function.identity(), (first, second) -> first));
		}

		@Override
		public double parallelism() {
			return number("getParallelism");
		}

		@Override
		public double poolSize() {
			return number("getPoolSize");
		}

		@Override
		public double mounted() {
			return number("getMountedVirtualThreadCount");
		}

		@Override
		public double queued() {
			return number("getQueuedVirtualThreadCount");
		}

		private double number(String getter) {
			try {
				double value = ((Number) this.getters.get(getter).invoke(this.bean)).doubleValue();
				// Without continuations of its own the JVM says -1.
				return (value >= 0) ? value : Double.NaN;
			}
			catch (ReflectiveOperationException | RuntimeException ex) {
				return Double.NaN;
			}
		}

	}

	/** The scheduler by the pool itself. */
	record Pool(ForkJoinPool pool) implements Scheduler {

		@Override
		public double parallelism() {
			return this.pool.getParallelism();
		}

		@Override
		public double poolSize() {
			return this.pool.getPoolSize();
		}

		@Override
		public double mounted() {
			return this.pool.getActiveThreadCount();
		}

		@Override
		public double queued() {
			return this.pool.getQueuedTaskCount() + this.pool.getQueuedSubmissionCount();
		}

	}

}
