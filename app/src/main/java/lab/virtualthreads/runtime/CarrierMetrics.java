package lab.virtualthreads.runtime;

import java.util.Arrays;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * How many carriers are alive. From JDK 24 on the scheduler says it itself ({@code jvm.threads.virtual.pool.size});
 * before, nothing does, and compensation can have started more than its parallelism.
 */
class CarrierMetrics implements MeterBinder {

	private static final String CARRIER = "jdk.internal.misc.CarrierThread";

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("jvm.threads.virtual.carriers", CarrierMetrics::alive)
			.baseUnit("threads")
			.description("Carriers that are alive, those started in compensation included")
			.register(registry);
	}

	private static long alive() {
		ThreadGroup root = Thread.currentThread().getThreadGroup();
		while (root.getParent() != null) {
			root = root.getParent();
		}
		// Some may start meanwhile; what does not fit is left out.
		Thread[] threads = new Thread[2 * root.activeCount()];
		return Arrays.stream(threads, 0, root.enumerate(threads))
			.filter((thread) -> thread.getClass().getName().equals(CARRIER))
			.count();
	}

}
