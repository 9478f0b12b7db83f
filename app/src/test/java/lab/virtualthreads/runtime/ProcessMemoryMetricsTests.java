package lab.virtualthreads.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

class ProcessMemoryMetricsTests {

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

	@TempDir
	private Path directory;

	@Test
	void readsTheResidentSetInBytesAndNaNOnceItIsGone() throws IOException {
		Path status = Files.writeString(this.directory.resolve("status"), "Name:\tjava\nVmRSS:\t   2048 kB\n");
		new ProcessMemoryMetrics(status).bindTo(this.registry);
		assertThat(this.registry.get("process.resident.memory").gauge().value()).isEqualTo(2048 * 1024);
		Files.delete(status);
		assertThat(this.registry.get("process.resident.memory").gauge().value()).isNaN();
	}

	@Test
	void hasNoMeterWhereThereIsNoSuchFile() {
		new ProcessMemoryMetrics(this.directory.resolve("status")).bindTo(this.registry);
		assertThat(this.registry.getMeters()).isEmpty();
	}

}
