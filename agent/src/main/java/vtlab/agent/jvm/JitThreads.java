package vtlab.agent.jvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * CPU time of the JIT compilers' threads, by the kernel's counters of each thread. No metric where {@code /proc} has
 * none, or where nothing compiles.
 */
public final class JitThreads implements Meters {

	/** Names of the threads, cut as the kernel cuts them. A GraalVM has JVMCI's in place of C2's. */
	private static final List<String> NAMES = List.of("C1 CompilerThre", "C2 CompilerThre", "JVMCI CompilerT",
			"JVMCI-native Co");

	/** Nanoseconds between two listings of the threads, of which there may be a thousand. */
	private static final long LISTED_EVERY = Duration.ofSeconds(10).toNanos();

	private final Path tasks;

	private final LongSupplier clock;

	/** Nanoseconds on a core of each compiler thread that is alive, by its number. */
	private final Map<String, Long> compilers = new HashMap<>();

	/** The numbers of all other threads: their names are read once. */
	private final Set<String> others = new HashSet<>();

	/** Nanoseconds of the compiler threads that have ended. */
	private long ended;

	private long listedAt;

	public JitThreads() {
		this(Path.of("/proc/self/task"), System::nanoTime);
	}

	JitThreads(Path tasks, LongSupplier clock) {
		this.tasks = tasks;
		this.clock = clock;
	}

	@Override
	public synchronized void write(Page page) {
		long now = this.clock.getAsLong();
		// Every JVM has others: without them nothing has been listed.
		if (this.others.isEmpty() || now - this.listedAt >= LISTED_EVERY) {
			this.listedAt = now;
			list();
		}
		for (String thread : List.copyOf(this.compilers.keySet())) {
			read(thread);
		}
		long alive = this.compilers.values().stream().mapToLong(Long::longValue).sum();
		boolean isKnown = !this.compilers.isEmpty() || this.ended > 0;
		page.counter("vtlab_jit_cpu_seconds_total", "CPU time of the JIT compilers' threads",
				isKnown ? (this.ended + alive) / 1e9 : Double.NaN);
	}

	private void list() {
		String[] listed = this.tasks.toFile().list();
		Set<String> threads = (listed == null) ? Set.of() : Set.of(listed);
		// A number may come again.
		this.others.retainAll(threads);
		for (String thread : threads) {
			if (!this.compilers.containsKey(thread) && !this.others.contains(thread)) {
				add(thread);
			}
		}
	}

	private void add(String thread) {
		try {
			String name = text(thread, "comm");
			if (NAMES.stream().anyMatch(name::startsWith)) {
				this.compilers.put(thread, 0L);
			}
			else {
				this.others.add(thread);
			}
		}
		catch (IOException ex) {
			// It has ended meanwhile.
		}
	}

	private void read(String thread) {
		try {
			// Nanoseconds on a core, nanoseconds waiting for one, time slices.
			this.compilers.put(thread, Long.parseLong(text(thread, "schedstat").split(" ")[0]));
		}
		catch (IOException | NumberFormatException ex) {
			this.ended += this.compilers.remove(thread);
		}
	}

	private String text(String thread, String file) throws IOException {
		return Files.readString(this.tasks.resolve(thread).resolve(file));
	}

}
