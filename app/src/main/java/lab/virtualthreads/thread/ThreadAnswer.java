package lab.virtualthreads.thread;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The thread that handled the request.
 *
 * @param isVirtual whether it is a virtual thread
 * @param threadName its name; for a virtual thread, which may have none, its number and carrier too
 */
record ThreadAnswer(@JsonProperty("isVirtual") boolean isVirtual, String threadName) {

	static ThreadAnswer ofCurrentThread() {
		Thread thread = Thread.currentThread();
		return new ThreadAnswer(thread.isVirtual(), thread.isVirtual() ? thread.toString() : thread.getName());
	}

}
