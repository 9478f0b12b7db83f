package vtlab.agent.jvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The archives of classes that this JVM was told of (ahead-of-time cache, CDS archive), and whether it uses them: it
 * gives up one that does not fit its jars, its flags or its agents, and starts without.
 */
public final class ClassArchives implements Meters {

	private final SortedMap<String, Boolean> used;

	public ClassArchives() {
		this(Stream.of("AOTCache", "SharedArchiveFile")
			.flatMap((name) -> Jvm.option(name).stream())
			.flatMap((paths) -> Stream.of(paths.split(":")))
			.filter((path) -> !path.isBlank())
			.toList(), Path.of("/proc/self/maps"));
	}

	/**
	 * Looks up which of the named archives are mapped into this process.
	 * @param maps the kernel's list of what is mapped
	 */
	ClassArchives(Collection<String> named, Path maps) {
		Set<String> mapped = named.isEmpty() ? Set.of() : files(maps);
		this.used = new TreeMap<>();
		for (String path : named) {
			this.used.put(Path.of(path).getFileName().toString(), mapped.contains(real(path)));
		}
	}

	@Override
	public void write(Page page) {
		this.used.forEach((name, isUsed) -> page.gauge("jvm_class_archive_used",
				"Whether the JVM takes classes from the archive that it was told of", isUsed ? 1 : 0, "name", name));
	}

	private static Set<String> files(Path maps) {
		try (Stream<String> lines = Files.lines(maps)) {
			// Address, permissions, offset, device, inode, path.
			return lines.map((line) -> line.split("\\s+", 6))
				.filter((fields) -> fields.length == 6)
				.map((fields) -> fields[5])
				.collect(Collectors.toSet());
		}
		catch (IOException ex) {
			return Set.of();
		}
	}

	private static String real(String path) {
		try {
			return Path.of(path).toRealPath().toString();
		}
		catch (IOException ex) {
			return path;
		}
	}

}
