package vtlab.agent.jvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import vtlab.agent.page.Page;

import static org.assertj.core.api.Assertions.assertThat;

class ClassArchivesTests {

	@TempDir
	private Path directory;

	private Path cache;

	@BeforeEach
	void makeCache() throws IOException {
		this.cache = Files.createFile(this.directory.toRealPath().resolve("app.aot"));
	}

	@Test
	void usesWhatIsMapped() throws IOException {
		assertThat(page(List.of(this.cache.toString()), "7f0a-7f0b rw-p 009c2000 fe:00 11215313     " + this.cache))
			.contains("jvm_class_archive_used{name=\"app.aot\"} 1.0\n");
	}

	@Test
	void doesNotUseWhatIsNotMapped() throws IOException {
		assertThat(page(List.of(this.cache.toString(), "absent.jsa"), "7f0a-7f0b rw-p 00000000 00:00 0"))
			.contains("jvm_class_archive_used{name=\"app.aot\"} 0.0\n")
			.contains("jvm_class_archive_used{name=\"absent.jsa\"} 0.0\n");
	}

	@Test
	void saysNothingWhereNoneIsNamed() throws IOException {
		assertThat(page(List.of(), "7f0a-7f0b rw-p 009c2000 fe:00 11215313     " + this.cache)).isEmpty();
	}

	private String page(List<String> named, String maps) throws IOException {
		Page page = new Page();
		new ClassArchives(named, Files.writeString(this.directory.resolve("maps"), maps + "\n")).write(page);
		return page.text();
	}

}
