package lab.virtualthreads.pinned;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that hold a monitor wait for a lock whose owner is a virtual thread without a carrier. Before JDK 24
 * the monitors pin the waiting threads: all carriers wait for the owner, and the owner waits for one of them, until the
 * waiting threads give up. Nothing of it is left to chance: the owner is told to release only when it has no carrier
 * and enough threads wait, and in the queue for a carrier it comes behind as many threads as there can be carriers.
 */
final class LockedOut {

	private final int carriers = Math.min(
			schedulerProperty("parallelism", Runtime.getRuntime().availableProcessors()),
			schedulerProperty("maxPoolSize", Integer.MAX_VALUE));

	/** The most carriers there can be, with those that the scheduler starts in compensation. */
	private final int threads = schedulerProperty("maxPoolSize", Math.max(this.carriers, 256));

	private final ReentrantLock lock = new ReentrantLock();

	private final CountDownLatch locked = new CountDownLatch(1);

	private final CountDownLatch release = new CountDownLatch(1);

	private final AtomicInteger acquired = new AtomicInteger();

	private final long deadline;

	LockedOut(Duration timeout) {
		this.deadline = System.nanoTime() + timeout.toNanos();
	}

	/**
	 * Runs the threads. It takes the time-out at most, longer only while other work keeps all carriers, and leaves no
	 * thread behind. Only for a platform thread: a virtual thread could not continue either.
	 */
	LockedOutAnswer run() throws InterruptedException {
		List<Thread> started = new ArrayList<>();
		Thread owner = Thread.startVirtualThread(this::holdLock);
		started.add(owner);
		this.locked.await();
		for (int i = 0; i < this.threads; i++) {
			// A monitor for each thread, so that only the lock makes them wait for each other.
			Object monitor = new Object();
			started.add(Thread.startVirtualThread(() -> acquire(monitor)));
		}
		while ((this.lock.getQueueLength() < this.carriers || owner.getState() != Thread.State.WAITING)
				&& left() > 0) {
			Thread.sleep(1);
		}
		int waiting = this.lock.getQueueLength();
		this.release.countDown();
		for (Thread thread : started) {
			thread.join();
		}
		return new LockedOutAnswer(this.acquired.get() == this.threads, this.threads, this.acquired.get(), waiting,
				this.carriers);
	}

	private void holdLock() {
		this.lock.lock();
		try {
			this.locked.countDown();
			this.release.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		finally {
			this.lock.unlock();
		}
	}

	private void acquire(Object monitor) {
		synchronized (monitor) {
			try {
				if (this.lock.tryLock(left(), TimeUnit.NANOSECONDS)) {
					// The first that gives up sets the others free: one can still get the lock, but not in time.
					if (left() > 0) {
						this.acquired.incrementAndGet();
					}
					this.lock.unlock();
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
	}

	private long left() {
		return this.deadline - System.nanoTime();
	}

	/** Returns a property of the scheduler, as documented in {@link Thread}. */
	private static int schedulerProperty(String name, int byDefault) {
		return Integer.getInteger("jdk.virtualThreadScheduler." + name, byDefault);
	}

}
