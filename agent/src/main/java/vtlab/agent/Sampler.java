package vtlab.agent;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Has gauges integrated over time. Where the CPU quota stops the JVM, a sample stands for the time since the one before.
 */
final class Sampler implements Meters {

	private static final long EVERY = TimeUnit.MILLISECONDS.toNanos(10);

	private final List<Meters> meters;

	private volatile long samples;

	Sampler(List<Meters> meters) {
		this.meters = meters;
	}

	void start() {
		OwnThreads.named("sampler", this::run).start();
	}

	@Override
	public void write(Page page) {
		page.counter("vtlab_agent_samples_total", "How often gauges were read for their integrals", this.samples);
	}

	private void run() {
		long before = System.nanoTime();
		while (!Thread.currentThread().isInterrupted()) {
			LockSupport.parkNanos(EVERY);
			long now = System.nanoTime();
			double seconds = (now - before) / 1e9;
			before = now;
			for (Meters group : this.meters) {
				try {
					group.sample(seconds);
				}
				catch (Exception | LinkageError ex) {
					Console.say(group.getClass().getSimpleName() + " was not sampled: " + ex);
				}
			}
			this.samples = this.samples + 1;
		}
	}

}
