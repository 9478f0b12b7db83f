package lab.virtualthreads.runtime;

import java.util.OptionalDouble;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.thread.Threading;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/**
 * Logs, in one line, what a measurement of this process depends on.
 */
@Component
class StartupLine {

	private static final Logger logger = LoggerFactory.getLogger(StartupLine.class);

	private final Environment environment;

	private final Cgroup cgroup;

	StartupLine(Environment environment, Cgroup cgroup) {
		this.environment = environment;
		this.cgroup = cgroup;
	}

	@EventListener(ApplicationReadyEvent.class)
	void log() {
		OptionalDouble limit = this.cgroup.cpuLimit();
		logger.info("variant={} jdk={} vendor=\"{}\" processors={} gc={} max-heap={}MiB cpu-limit={}",
				Threading.VIRTUAL.isActive(this.environment) ? "virtual" : "platform", Runtime.version(),
				System.getProperty("java.vendor"), Runtime.getRuntime().availableProcessors(), Jvm.gc(),
				Jvm.maxHeap() >> 20,
				limit.isPresent() ? limit.getAsDouble() : "none");
	}

}
