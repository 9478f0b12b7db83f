package lab.virtualthreads.fanout;

import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Wait;

/**
 * Equal tasks that an executor ran, all of them.
 *
 * @param tasks how many tasks
 * @param threads the threads that they ran on, each once
 * @param seconds the time from the first task's submission to the last one's end
 * @param digest the end of the hash chain, the same in every task; empty without a chain
 */
record FanOut(int tasks, Set<Thread> threads, double seconds, String digest) {

	/** The longest wait of a task, in seconds. */
	static final int MOST_SECONDS = 1;

	/**
	 * Runs equal tasks on an executor, and waits until all have ended.
	 * @throws InterruptedException when the caller is interrupted, which cancels the tasks, or a task is, because the
	 * executor was shut down
	 */
	static FanOut run(ExecutorService executor, int tasks, Task task) throws InterruptedException {
		long start = System.nanoTime();
		List<Future<Done>> futures = executor.invokeAll(Collections.nCopies(tasks, task));
		double seconds = (System.nanoTime() - start) / 1e9;
		Set<Thread> threads = new HashSet<>();
		String digest = "";
		for (Future<Done> future : futures) {
			Done done = get(future);
			threads.add(done.thread());
			digest = done.digest();
		}
		return new FanOut(tasks, threads, seconds, digest);
	}

	private static Done get(Future<Done> future) throws InterruptedException {
		try {
			return future.get();
		}
		catch (CancellationException ex) {
			throw new InterruptedException("The executor was shut down before the task began");
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof InterruptedException interrupted) {
				throw interrupted;
			}
			throw new IllegalStateException("A task failed", ex.getCause());
		}
	}

	/**
	 * Waits, then computes a chain of SHA-256 hashes.
	 *
	 * @param duration the wait, drawn by each task where it is drawn, none if zero
	 * @param iterations the length of the chain, none if zero
	 */
	record Task(Wait duration, long iterations) implements Callable<Done> {

		@Override
		public Done call() throws InterruptedException {
			Duration wait = this.duration.next(MOST_SECONDS);
			// A sleep of nothing would still give the processor away.
			if (wait.isPositive()) {
				Thread.sleep(wait);
			}
			String digest = (this.iterations > 0) ? HashChain.compute(this.iterations).digest() : "";
			return new Done(Thread.currentThread(), digest);
		}

	}

	/** The result of a task. */
	record Done(Thread thread, String digest) {

	}

}
