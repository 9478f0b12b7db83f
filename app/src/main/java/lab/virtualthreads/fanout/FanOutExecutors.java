package lab.virtualthreads.fanout;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.ExecutorServiceMetrics;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.stereotype.Component;

/**
 * One executor of each kind, for as long as the application runs. The pools have the meters that Spring Boot gives to
 * executors that are beans; these are none, so that Spring Boot still makes its own.
 */
@Component
class FanOutExecutors implements MeterBinder, DisposableBean {

	private final Map<FanOutExecutor, ExecutorService> executors = new EnumMap<>(FanOutExecutor.class);

	/** Executors that also take the time of each task, once there are meters. */
	private final Map<FanOutExecutor, ExecutorService> timed = new ConcurrentHashMap<>();

	FanOutExecutors() {
		for (FanOutExecutor kind : FanOutExecutor.values()) {
			this.executors.put(kind, kind.create());
		}
	}

	ExecutorService get(FanOutExecutor kind) {
		return this.timed.getOrDefault(kind, this.executors.get(kind));
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.executors.forEach((kind, executor) -> {
			if (executor instanceof ThreadPoolExecutor) {
				this.timed.put(kind, ExecutorServiceMetrics.monitor(registry, executor, "fan-out-" + kind));
			}
		});
	}

	/** Ends the waits of requests that outlived the graceful shutdown, and then waits for the threads. */
	@Override
	public void destroy() {
		for (ExecutorService executor : this.executors.values()) {
			for (Runnable queued : executor.shutdownNow()) {
				// No thread would ever run it, and a request waits for it.
				((Future<?>) queued).cancel(true);
			}
		}
		this.executors.values().forEach(ExecutorService::close);
	}

}
