package lab.virtualthreads.fanout;

import java.util.concurrent.Executor;

import org.springframework.stereotype.Component;

/**
 * The executor {@code pool8}, for tests of other packages.
 */
@Component
public class Pool8 {

	private final FanOutExecutors executors;

	Pool8(FanOutExecutors executors) {
		this.executors = executors;
	}

	public Executor executor() {
		return this.executors.get(FanOutExecutor.POOL8);
	}

}
