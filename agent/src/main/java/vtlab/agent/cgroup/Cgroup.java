package vtlab.agent.cgroup;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The control groups that this process is in, of version 1, version 2, or one controller of each (hybrid). Every value
 * is read anew, and is empty where its file does not exist, cannot be read, or says that there is no limit.
 */
public final class Cgroup {

	/**
	 * The smallest value that means "no limit": version 1 writes the largest whole number of pages, and no machine has
	 * this many bytes.
	 */
	private static final double NO_MEMORY_LIMIT = 1L << 62;

	private final Optional<Controller> cpu;

	private final Optional<Controller> memory;

	private Cgroup(Optional<Controller> cpu, Optional<Controller> memory) {
		this.cpu = cpu;
		this.memory = memory;
	}

	public static Cgroup ofThisProcess() {
		return read(Path.of("/"));
	}

	/**
	 * Reads {@code proc/self/cgroup} and {@code proc/self/mountinfo} below a directory, and takes the mount points
	 * that they name to be below it too.
	 */
	static Cgroup read(Path root) {
		List<Membership> memberships = Membership.parse(lines(root.resolve("proc/self/cgroup")));
		List<Mount> mounts = Mount.parse(lines(root.resolve("proc/self/mountinfo")));
		return new Cgroup(Controller.find("cpu", memberships, mounts, root),
				Controller.find("memory", memberships, mounts, root));
	}

	/**
	 * Returns the most CPU that the process can get, in cores: the smallest quota per period of its group and those
	 * above it.
	 */
	public OptionalDouble cpuLimit() {
		return this.cpu.stream().flatMap((controller) -> controller.groups().stream().map(controller::cpuLimit))
			.flatMapToDouble(OptionalDouble::stream)
			.min();
	}

	/** Returns the number of enforcement periods in which the group had something to run. */
	OptionalDouble cpuPeriods() {
		return cpuStat("nr_periods");
	}

	/** Returns in how many of these periods the quota ran out. */
	OptionalDouble cpuThrottledPeriods() {
		return cpuStat("nr_throttled");
	}

	/** Returns how long the group's CPUs were stopped altogether, in seconds. */
	OptionalDouble cpuThrottledSeconds() {
		OptionalDouble v2 = scale(cpuStat("throttled_usec"), 1e-6);
		return v2.isPresent() ? v2 : scale(cpuStat("throttled_time"), 1e-9);
	}

	/**
	 * Returns the most memory that the process can get, in bytes: the smallest limit of its group and those above it.
	 */
	OptionalDouble memoryLimit() {
		return this.memory.stream()
			.flatMap((controller) -> controller.groups()
				.stream()
				.map((group) -> number(group, controller.v2() ? "memory.max" : "memory.limit_in_bytes")))
			.flatMapToDouble(OptionalDouble::stream)
			.filter((limit) -> limit < NO_MEMORY_LIMIT)
			.min();
	}

	/** Returns the memory charged to the process's own group in bytes, page cache included. */
	OptionalDouble memoryUsage() {
		return this.memory.map((controller) -> number(controller.groups().getFirst(),
				controller.v2() ? "memory.current" : "memory.usage_in_bytes"))
			.orElse(OptionalDouble.empty());
	}

	private OptionalDouble cpuStat(String key) {
		if (this.cpu.isEmpty()) {
			return OptionalDouble.empty();
		}
		return lines(this.cpu.get().throttlingGroup().resolve("cpu.stat")).stream()
			.filter((line) -> line.startsWith(key + " "))
			.map((line) -> parse(line.substring(key.length() + 1)))
			.flatMapToDouble(OptionalDouble::stream)
			.findFirst();
	}

	private static OptionalDouble scale(OptionalDouble value, double factor) {
		return value.isPresent() ? OptionalDouble.of(value.getAsDouble() * factor) : value;
	}

	private static OptionalDouble number(Path group, String file) {
		return lines(group.resolve(file)).stream().findFirst().map(Cgroup::parse).orElse(OptionalDouble.empty());
	}

	private static OptionalDouble parse(String text) {
		try {
			return OptionalDouble.of(Long.parseLong(text.strip()));
		}
		// "max" is the way of version 2 to say that there is no limit.
		catch (NumberFormatException ex) {
			return OptionalDouble.empty();
		}
	}

	private static List<String> lines(Path file) {
		try {
			return Files.readAllLines(file);
		}
		catch (IOException | UncheckedIOException ex) {
			return List.of();
		}
	}

	/**
	 * A controller as this process has it.
	 *
	 * @param v2 the version, and with it the names of the files
	 * @param groups the directories of the process's own group and of those above it, as far as they can be seen
	 * @param throttlingGroup the group whose throttling is reported: the one with the smallest limit at start-up, since
	 * the kernel counts throttling where the quota is. Fixed, because a counter must not jump to another group's.
	 */
	private record Controller(boolean v2, List<Path> groups, Path throttlingGroup) {

		static Optional<Controller> find(String name, List<Membership> memberships, List<Mount> mounts, Path root) {
			// A controller is in a hierarchy of version 1 or in the one of version 2, never in both.
			Optional<Membership> v1 = memberships.stream()
				.filter((group) -> group.controllers().contains(name))
				.findFirst();
			Optional<Membership> membership = v1.or(() -> memberships.stream().filter(Membership::v2).findFirst());
			return membership.flatMap((group) -> mounts.stream()
				.filter((mount) -> group.v2() ? mount.v2() : mount.v1Has(name))
				.map((mount) -> mount.groups(group.path(), root))
				.filter((groups) -> !groups.isEmpty())
				.findFirst()
				.map((groups) -> of(group.v2(), groups)));
		}

		private static Controller of(boolean v2, List<Path> groups) {
			Controller controller = new Controller(v2, groups, groups.getFirst());
			Path throttling = groups.stream()
				.filter((group) -> controller.cpuLimit(group).isPresent())
				.min(Comparator.comparingDouble((group) -> controller.cpuLimit(group).getAsDouble()))
				.orElse(groups.getFirst());
			return new Controller(v2, groups, throttling);
		}

		OptionalDouble cpuLimit(Path group) {
			if (!this.v2) {
				return ratio(number(group, "cpu.cfs_quota_us"), number(group, "cpu.cfs_period_us"));
			}
			String[] quotaAndPeriod = lines(group.resolve("cpu.max")).stream().findFirst().orElse("").split(" ");
			return (quotaAndPeriod.length == 2) ? ratio(parse(quotaAndPeriod[0]), parse(quotaAndPeriod[1]))
					: OptionalDouble.empty();
		}

		private static OptionalDouble ratio(OptionalDouble quota, OptionalDouble period) {
			// Version 1 says "no limit" with a quota of -1.
			boolean limited = quota.orElse(-1) > 0 && period.orElse(0) > 0;
			return limited ? OptionalDouble.of(quota.getAsDouble() / period.getAsDouble()) : OptionalDouble.empty();
		}

	}

	/**
	 * A line of {@code /proc/self/cgroup}, such as {@code 4:cpu,cpuacct:/system.slice/x} or {@code 0::/system.slice/x}.
	 */
	private record Membership(boolean v2, List<String> controllers, String path) {

		static List<Membership> parse(List<String> lines) {
			return lines.stream()
				.map((line) -> line.split(":", 3))
				.filter((fields) -> fields.length == 3)
				.map((fields) -> new Membership(fields[0].equals("0"), List.of(fields[1].split(",")), fields[2]))
				.toList();
		}

	}

	/**
	 * A mounted hierarchy: which of its groups is mounted, and where.
	 */
	private record Mount(boolean v2, List<String> options, String root, String point) {

		/**
		 * Picks the cgroup file systems out of {@code /proc/self/mountinfo}, whose lines are
		 * {@code 32 31 0:29 <root> <point> <options> [<tags>] - <type> <source> <options>}.
		 */
		static List<Mount> parse(List<String> lines) {
			return lines.stream().flatMap((line) -> {
				String[] halves = line.split(" - ", 2);
				String[] mount = halves[0].split(" ");
				String[] system = (halves.length == 2) ? halves[1].split(" ") : new String[0];
				if (mount.length < 6 || system.length < 3 || !system[0].startsWith("cgroup")) {
					return Stream.empty();
				}
				return Stream.of(new Mount(system[0].equals("cgroup2"), Arrays.asList(system[2].split(",")),
						unescape(mount[3]), unescape(mount[4])));
			}).toList();
		}

		boolean v1Has(String controller) {
			return !this.v2 && this.options.contains(controller);
		}

		/**
		 * Returns the directories of a group and of those above it, up to the mount point; empty when not even that
		 * exists.
		 */
		List<Path> groups(String path, Path fileSystem) {
			Path top = fileSystem.resolve(this.point.substring(1));
			Path group = top.resolve(below(path)).normalize();
			// In a container the path can be the host's while only the container's group is mounted.
			Path lowest = (group.startsWith(top) && Files.isDirectory(group)) ? group : top;
			List<Path> groups = new ArrayList<>();
			for (Path level = lowest; level.startsWith(top) && Files.isDirectory(level); level = level.getParent()) {
				groups.add(level);
			}
			return List.copyOf(groups);
		}

		private String below(String path) {
			String prefix = this.root.equals("/") ? "/" : this.root + "/";
			return path.startsWith(prefix) ? path.substring(prefix.length()) : "";
		}

		private static String unescape(String path) {
			return path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
		}

	}

}
