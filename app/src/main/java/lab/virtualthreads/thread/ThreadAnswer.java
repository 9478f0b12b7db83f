package lab.virtualthreads.thread;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The thread that handled the request.
 *
 * @param isVirtual whether it is a virtual thread
 * @param threadName its name, empty for a virtual thread that has none
 */
record ThreadAnswer(@JsonProperty("isVirtual") boolean isVirtual, String threadName) {

	static ThreadAnswer ofCurrentThread() {
		Thread thread = Thread.currentThread();
		return new ThreadAnswer(thread.isVirtual(), thread.getName());
	}

}
