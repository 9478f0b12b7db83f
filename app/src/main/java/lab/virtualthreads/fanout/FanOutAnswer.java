package lab.virtualthreads.fanout;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The outcome of one request's tasks.
 *
 * @param tasks how many tasks
 * @param executor the executor that they ran on
 * @param isVirtual whether all of them ran on virtual threads
 * @param threads on how many different threads
 * @param seconds the time from the first task's submission to the last one's end
 * @param digest the end of each task's hash chain, in hexadecimal; empty without a chain
 */
record FanOutAnswer(int tasks, String executor, @JsonProperty("isVirtual") boolean isVirtual, int threads,
		double seconds, String digest) {

	static FanOutAnswer of(FanOutExecutor executor, FanOut fanOut) {
		return new FanOutAnswer(fanOut.tasks(), executor.toString(),
				fanOut.threads().stream().allMatch(Thread::isVirtual), fanOut.threads().size(), fanOut.seconds(),
				fanOut.digest());
	}

}
