package vtlab.agent.jvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import vtlab.agent.page.Page;

import static org.assertj.core.api.Assertions.assertThat;

class JitThreadsTests {

	private final AtomicLong clock = new AtomicLong();

	@TempDir
	private Path tasks;

	private JitThreads threads;

	@BeforeEach
	void create() {
		this.threads = new JitThreads(this.tasks, this.clock::get);
	}

	@Test
	void countTheCompilersAlone() throws IOException {
		thread(7, "http-nio-8080-e", 900_000_000_000L);
		thread(8, "C2 CompilerThre", 1_500_000_000L);
		thread(9, "C1 CompilerThre", 250_000_000L);
		assertThat(page()).isEqualTo("1.75");
		thread(8, "C2 CompilerThre", 2_500_000_000L);
		assertThat(page()).isEqualTo("2.75");
	}

	@Test
	void knowTheCompilersOfJvmci() throws IOException {
		thread(8, "JVMCI CompilerT", 1_000_000_000L);
		thread(9, "JVMCI-native Co", 2_000_000_000L);
		assertThat(page()).isEqualTo("3.0");
	}

	@Test
	void keepTheTimeOfOneThatEnded() throws IOException {
		thread(7, "main", 1L);
		thread(8, "C2 CompilerThre", 1_000_000_000L);
		assertThat(page()).isEqualTo("1.0");
		end(8);
		assertThat(page()).isEqualTo("1.0");
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
		thread(8, "C2 CompilerThre", 500_000_000L);
		assertThat(page()).as("another one of that number").isEqualTo("1.5");
	}

	@Test
	void lookForNewOnesNowAndThen() throws IOException {
		thread(7, "main", 1L);
		thread(8, "C2 CompilerThre", 1_000_000_000L);
		assertThat(page()).isEqualTo("1.0");
		thread(9, "C2 CompilerThre", 1_000_000_000L);
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(9));
		assertThat(page()).isEqualTo("1.0");
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
		assertThat(page()).isEqualTo("2.0");
	}

	@Test
	void takeTheNumberOfAnotherThreadThatEnded() throws IOException {
		thread(6, "main", 1L);
		thread(7, "http-nio-8080-e", 1L);
		thread(8, "C1 CompilerThre", 1_000_000_000L);
		assertThat(page()).isEqualTo("1.0");
		end(7);
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
		page();
		thread(7, "C2 CompilerThre", 1_000_000_000L);
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
		assertThat(page()).isEqualTo("2.0");
	}

	@Test
	void areUnknownWhereTheKernelDoesNotTell() throws IOException {
		thread(7, "main", 1L);
		assertThat(page()).as("nothing compiles").isEmpty();
		thread(8, "C2 CompilerThre", 1L);
		Files.delete(this.tasks.resolve("8/schedstat"));
		this.clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
		assertThat(page()).as("a kernel without these counters").isEmpty();
		JitThreads elsewhere = new JitThreads(this.tasks.resolve("none"), this.clock::get);
		Page page = new Page();
		elsewhere.write(page);
		assertThat(page.text()).isEmpty();
	}

	private void thread(int number, String name, long nanoseconds) throws IOException {
		Path task = Files.createDirectories(this.tasks.resolve(String.valueOf(number)));
		Files.writeString(task.resolve("comm"), name + "\n");
		Files.writeString(task.resolve("schedstat"), nanoseconds + " 1000 3\n");
	}

	private void end(int number) throws IOException {
		Path task = this.tasks.resolve(String.valueOf(number));
		Files.delete(task.resolve("comm"));
		Files.delete(task.resolve("schedstat"));
		Files.delete(task);
	}

	/** Returns the value of the only metric; empty without it. */
	private String page() {
		Page page = new Page();
		this.threads.write(page);
		return page.text().lines().filter((line) -> !line.startsWith("#")).findFirst().orElse("").replaceAll(".* ", "");
	}

}
