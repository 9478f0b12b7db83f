package lab.virtualthreads.runtime;

import java.nio.file.Path;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;

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
	 * The meters that Spring Boot and Micrometer do not have. The profile {@code no-metrics} leaves out all
	 * instrumentation, theirs and this, to measure what it costs.
	 */
	@Configuration(proxyBeanMethods = false)
	@Profile("!no-metrics")
	static class MetricsConfiguration {

		@Bean
		PinnedPlaces pinnedPlaces() {
			return new PinnedPlaces();
		}

		@Bean
		CgroupMetrics cgroupMetrics(Cgroup cgroup) {
			return new CgroupMetrics(cgroup);
		}

		@Bean
		ProcessMemoryMetrics processMemoryMetrics() {
			return new ProcessMemoryMetrics(Path.of("/proc/self/status"));
		}

		@Bean
		CarrierMetrics carrierMetrics() {
			return new CarrierMetrics();
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
