package lab.virtualthreads.sleep;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The thread that handled the request.
 *
 * @param isVirtual whether it is a virtual thread
 * @param threadName its name; for a virtual thread, which may have none, its number and carrier too
 */
record SleepAnswer(@JsonProperty("isVirtual") boolean isVirtual, String threadName) {

	static SleepAnswer ofCurrentThread() {
		Thread thread = Thread.currentThread();
		return new SleepAnswer(thread.isVirtual(), thread.isVirtual() ? thread.toString() : thread.getName());
	}

}
