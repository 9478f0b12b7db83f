package lab.virtualthreads.async;

import java.util.List;

import com.fasterxml.jackson.annotation.JsonProperty;
import lab.virtualthreads.async.RunTasks.Done;

/**
 * The outcome of one request's tasks.
 *
 * @param tasks how many tasks
 * @param executor the executor that they ran on
 * @param isVirtual whether all of them ran on virtual threads
 * @param threads on how many different threads
 * @param seconds the time from the first task's submission to the last one's end
 * @param total the primes that all tasks counted together, or the bytes that they read
 */
record RunAnswer(int tasks, String executor, @JsonProperty("isVirtual") boolean isVirtual, long threads, double seconds,
		long total) {

	static RunAnswer of(RunExecutor executor, List<Done> done, double seconds) {
		return new RunAnswer(done.size(), executor.toString(),
				done.stream().map(Done::thread).allMatch(Thread::isVirtual),
				done.stream().map(Done::thread).distinct().count(), seconds,
				done.stream().mapToLong(Done::result).sum());
	}

}
