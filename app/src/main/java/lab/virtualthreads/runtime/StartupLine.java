package lab.virtualthreads.runtime;

import java.util.Locale;
import java.util.OptionalDouble;

import lab.virtualthreads.config.threads.ThreadKind;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import vtlab.agent.cgroup.Cgroup;
import vtlab.agent.jvm.Jvm;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.web.context.reactive.ReactiveWebApplicationContext;
import org.springframework.context.ApplicationContext;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/**
 * The log line at start-up with what a measurement of this process depends on.
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

	@EventListener
	void log(ApplicationReadyEvent event) {
		OptionalDouble limit = this.cgroup.cpuLimit();
		logger.info("variant={} jdk={} vendor=\"{}\" processors={} gc={} max-heap={}MiB cpu-limit={}",
				variant(event.getApplicationContext()), Runtime.version(),
				System.getProperty("java.vendor"), Runtime.getRuntime().availableProcessors(), Jvm.gc(),
				Jvm.maxHeap() >> 20,
				limit.isPresent() ? limit.getAsDouble() : "none");
	}

	private String variant(ApplicationContext context) {
		if (context instanceof ReactiveWebApplicationContext) {
			return "reactive";
		}
		return ThreadKind.of(this.environment).name().toLowerCase(Locale.ROOT);
	}

}
