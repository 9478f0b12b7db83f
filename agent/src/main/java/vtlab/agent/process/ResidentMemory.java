package vtlab.agent.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The resident set of the process in bytes, heap, stacks and all. No metric where there is no {@code /proc}.
 */
public final class ResidentMemory implements Meters {

	private final Path status;

	public ResidentMemory() {
		this(Path.of("/proc/self/status"));
	}

	ResidentMemory(Path status) {
		this.status = status;
	}

	@Override
	public void write(Page page) {
		page.gauge("process_resident_memory_bytes", "Physical memory in use by the process", bytes());
	}

	private double bytes() {
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
