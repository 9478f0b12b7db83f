package vtlab.agent.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The resident set of the process in bytes, heap, stacks and all: now, and the largest since its start. No metric where
 * there is no {@code /proc}.
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
		List<String> lines = lines();
		page.gauge("process_resident_memory_bytes", "Physical memory in use by the process", bytes(lines, "VmRSS:"));
		page.gauge("process_resident_memory_peak_bytes", "Most physical memory that the process has used",
				bytes(lines, "VmHWM:"));
	}

	private List<String> lines() {
		try {
			return Files.readAllLines(this.status);
		}
		catch (IOException ex) {
			return List.of();
		}
	}

	private static double bytes(List<String> lines, String name) {
		return lines.stream()
			.filter((line) -> line.startsWith(name))
			.map((line) -> line.replaceAll("\\D", ""))
			.filter((kibibytes) -> !kibibytes.isEmpty())
			.mapToDouble((kibibytes) -> Long.parseLong(kibibytes) * 1024.0)
			.findFirst()
			.orElse(Double.NaN);
	}

}
