package vtlab.agent;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The thread that integrates gauges over time: 100 times a second, and less often where that would take more than a
 * hundredth of the CPU that the process can get. Where the CPU quota stops the JVM, a sample stands for the time since
 * the one before.
 */
public final class Sampler implements Meters, AutoCloseable {

	private static final long SHORTEST = TimeUnit.MILLISECONDS.toNanos(10);

	private static final long LONGEST = TimeUnit.MILLISECONDS.toNanos(100);

	private static final double MOST_OF_THE_CPU = 0.01;

	/** The number of samples whose mean cost sets the next interval. */
	private static final int ROUND = 64;

	private final List<Meters> meters;

	private final double cores;

	private long interval = SHORTEST;

	private volatile long samples;

	private Thread thread;

	/**
	 * Creates a sampler that does not run yet.
	 * @param cores the CPU that the process can get; more than one count as one
	 */
	public Sampler(List<Meters> meters, double cores) {
		this.meters = meters;
		this.cores = cores;
	}

	/**
	 * Returns how long to wait from sample to sample.
	 * @param cost the CPU time of a sample, in nanoseconds like the result
	 */
	static long interval(double cost, double cores) {
		double affordable = cost / (MOST_OF_THE_CPU * Math.min(cores, 1));
		return (long) Math.clamp(affordable, SHORTEST, LONGEST);
	}

	public void start() {
		this.thread = OwnThreads.named("sampler", this::run);
		this.thread.start();
	}

	@Override
	public void close() {
		this.thread.interrupt();
		try {
			// Another sampler must not add to the same integrals meanwhile.
			this.thread.join();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public void write(Page page) {
		page.counter("vtlab_agent_samples_total", "How often gauges were read for their integrals", this.samples);
	}

	private void run() {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long before = System.nanoTime();
		while (!Thread.currentThread().isInterrupted()) {
			long cpu = threads.getCurrentThreadCpuTime();
			for (int i = 0; i < ROUND && !Thread.currentThread().isInterrupted(); i++) {
				LockSupport.parkNanos(this.interval);
				long now = System.nanoTime();
				sampleAll((now - before) / 1e9);
				before = now;
			}
			this.interval = interval((threads.getCurrentThreadCpuTime() - cpu) / (double) ROUND, this.cores);
		}
	}

	private void sampleAll(double seconds) {
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
