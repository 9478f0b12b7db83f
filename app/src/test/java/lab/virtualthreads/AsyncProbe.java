package lab.virtualthreads;

import java.util.concurrent.CompletableFuture;

import org.springframework.scheduling.annotation.Async;
import org.springframework.stereotype.Component;

/**
 * An {@code @Async} method that names no executor.
 */
@Component
class AsyncProbe {

	@Async
	CompletableFuture<Thread> thread() {
		return CompletableFuture.completedFuture(Thread.currentThread());
	}

}
