package lab.virtualthreads.runtime;

import java.util.OptionalDouble;
import java.util.function.Function;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * Limits, throttling and memory of the process's own control group. What cannot be read at start-up has no meter, and
 * a meter whose file vanishes later reads NaN.
 */
class CgroupMetrics implements MeterBinder {

	private final Cgroup cgroup;

	CgroupMetrics(Cgroup cgroup) {
		this.cgroup = cgroup;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		gauge(registry, "cgroup.cpu.limit", "cores", "CPU that the process can get", Cgroup::cpuLimit);
		counter(registry, "cgroup.cpu.periods", null, "Enforcement periods with something to run", Cgroup::cpuPeriods);
		counter(registry, "cgroup.cpu.throttled.periods", null, "Periods in which the CPU quota ran out",
				Cgroup::cpuThrottledPeriods);
		counter(registry, "cgroup.cpu.throttled.time", "seconds", "Time that CPUs were stopped by the quota",
				Cgroup::cpuThrottledSeconds);
		gauge(registry, "cgroup.memory.limit", "bytes", "Memory that the process can get", Cgroup::memoryLimit);
		gauge(registry, "cgroup.memory.usage", "bytes", "Memory charged to the group, page cache included",
				Cgroup::memoryUsage);
	}

	private void gauge(MeterRegistry registry, String name, String unit, String description,
			Function<Cgroup, OptionalDouble> value) {
		if (value.apply(this.cgroup).isPresent()) {
			Gauge.builder(name, this.cgroup, (cgroup) -> value.apply(cgroup).orElse(Double.NaN))
				.baseUnit(unit)
				.description(description)
				.strongReference(true)
				.register(registry);
		}
	}

	private void counter(MeterRegistry registry, String name, String unit, String description,
			Function<Cgroup, OptionalDouble> value) {
		if (value.apply(this.cgroup).isPresent()) {
			FunctionCounter.builder(name, this.cgroup, (cgroup) -> value.apply(cgroup).orElse(Double.NaN))
				.baseUnit(unit)
				.description(description)
				.register(registry);
		}
	}

}
