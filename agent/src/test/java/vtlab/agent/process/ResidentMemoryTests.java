package vtlab.agent.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import vtlab.agent.page.Page;

import static org.assertj.core.api.Assertions.assertThat;

class ResidentMemoryTests {

	@TempDir
	private Path directory;

	@Test
	void isReadInBytesUntilItIsGone() throws IOException {
		Path status = Files.writeString(this.directory.resolve("status"),
				"Name:\tjava\nVmHWM:\t   3072 kB\nVmRSS:\t   2048 kB\n");
		assertThat(page(status)).contains("process_resident_memory_bytes 2097152.0\n")
			.contains("process_resident_memory_peak_bytes 3145728.0\n");
		Files.delete(status);
		assertThat(page(status)).isEmpty();
	}

	private static String page(Path status) {
		Page page = new Page();
		new ResidentMemory(status).write(page);
		return page.text();
	}

}
