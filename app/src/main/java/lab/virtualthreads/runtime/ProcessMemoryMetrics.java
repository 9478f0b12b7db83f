package lab.virtualthreads.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * The resident set of the process in bytes, heap, stacks and all. No meter where there is no {@code /proc}.
 */
class ProcessMemoryMetrics implements MeterBinder {

	private final Path status;

	ProcessMemoryMetrics(Path status) {
		this.status = status;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		if (!Double.isNaN(residentBytes())) {
			Gauge.builder("process.resident.memory", this, ProcessMemoryMetrics::residentBytes)
				.baseUnit("bytes")
				.description("Physical memory in use by the process")
				.strongReference(true)
				.register(registry);
		}
	}

	private double residentBytes() {
		try {
			return Files.readAllLines(this.status)
				.stream()
				.filter((line) -> line.startsWith("VmRSS:"))
				.mapToDouble((line) -> Long.parseLong(line.replaceAll("\\D", "")) * 1024.0)
				.findFirst()
				.orElse(Double.NaN);
		}
		catch (IOException | NumberFormatException ex) {
			return Double.NaN;
		}
	}

}
