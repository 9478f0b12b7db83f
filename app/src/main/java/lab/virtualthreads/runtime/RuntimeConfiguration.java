package lab.virtualthreads.runtime;

import java.util.List;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import vtlab.agent.Sampler;
import vtlab.agent.cgroup.Cgroup;
import vtlab.agent.cgroup.CgroupMeters;
import vtlab.agent.jvm.ClassArchives;
import vtlab.agent.jvm.JitThreads;
import vtlab.agent.jvm.Jvm;
import vtlab.agent.process.ResidentMemory;
import vtlab.agent.virtualthreads.Carriers;
import vtlab.agent.virtualthreads.PinnedThreads;
import vtlab.agent.virtualthreads.SchedulerTime;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

@Configuration(proxyBeanMethods = false)
class RuntimeConfiguration {

	@Bean
	Cgroup cgroup() {
		return Cgroup.ofThisProcess();
	}

	/**
	 * The meters that Spring Boot and Micrometer do not have: the agent's, and none of them twice. The profile
	 * {@code no-metrics} leaves out all instrumentation, theirs and this, to measure what it costs.
	 */
	@Configuration(proxyBeanMethods = false)
	@Profile("!no-metrics")
	static class MetricsConfiguration {

		@Bean
		PinnedThreads pinnedThreads() {
			PinnedThreads pinned = new PinnedThreads(PinnedThreads.THRESHOLD);
			pinned.start();
			return pinned;
		}

		@Bean
		SchedulerTime schedulerTime() {
			return new SchedulerTime();
		}

		@Bean
		Sampler sampler(Cgroup cgroup, SchedulerTime schedulerTime) {
			Sampler sampler = new Sampler(List.of(schedulerTime), cgroup.cpuLimit().orElse(1));
			sampler.start();
			return sampler;
		}

		/** Creates the agent's metrics but the sampler's: by its metric vtlab knows a service that has the agent. */
		@Bean
		AgentMetrics agentMetrics(Cgroup cgroup, PinnedThreads pinned, SchedulerTime schedulerTime,
				ObjectProvider<PrometheusRegistry> registries) {
			AgentMetrics metrics = new AgentMetrics(List.of(new CgroupMeters(cgroup), new ResidentMemory(),
					new JitThreads(), new ClassArchives(), new Carriers(), pinned::writePlaces, schedulerTime));
			registries.ifAvailable((registry) -> registry.register(metrics));
			return metrics;
		}

		@Bean
		MeterBinder gcInfoMetrics() {
			return (registry) -> Gauge.builder("jvm.gc.info", () -> 1)
				.tag("name", Jvm.gc())
				.description("The garbage collector in use")
				.register(registry);
		}

	}

}
