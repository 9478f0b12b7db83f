package lab.virtualthreads.fanout;

import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/**
 * The executors that are compared: pools of platform threads of a fixed size, and a virtual thread per task.
 */
enum FanOutExecutor {

	/** Eight threads, as published. */
	POOL8,

	/** As many threads as Tomcat has by default. */
	POOL200,

	/** As many threads as the JVM sees processors. */
	PROCESSORS,

	/** A new virtual thread for each task. */
	VIRTUAL;

	/** Creates an executor. The threads of a pool start with its first tasks, and hold no JVM up that wants to end. */
	ExecutorService create() {
		ThreadFactory threads = Thread.ofPlatform().daemon().name("fan-out-" + this + "-", 0).factory();
		return switch (this) {
			case POOL8 -> Executors.newFixedThreadPool(8, threads);
			case POOL200 -> Executors.newFixedThreadPool(200, threads);
			case PROCESSORS -> Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors(), threads);
			case VIRTUAL -> Executors.newVirtualThreadPerTaskExecutor();
		};
	}

	/** Returns the name that requests and benchmarks use. */
	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT);
	}

}
