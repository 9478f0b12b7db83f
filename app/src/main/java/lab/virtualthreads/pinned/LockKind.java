package lab.virtualthreads.pinned;

/** The lock that a request holds while it waits. */
enum LockKind {

	/** The monitor of an object ({@code synchronized}), which pins a virtual thread before JDK 24. */
	MONITOR,

	/** A {@link java.util.concurrent.locks.ReentrantLock}, which never does. */
	REENTRANT

}
