package lab.virtualthreads.async;

import java.util.Locale;

/**
 * The executors that are compared.
 */
enum RunExecutor {

	/** A pool of platform threads with a queue, both of them bounded. */
	BOUNDED,

	/** A new virtual thread for each task. */
	VIRTUAL;

	/** Returns the name that requests use. */
	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT);
	}

}
