package vtlab.agent.jvm;

import java.lang.management.ManagementFactory;
import java.util.Optional;
import java.util.stream.Stream;

import com.sun.management.HotSpotDiagnosticMXBean;

/**
 * The virtual machine's own decisions, as it reports them.
 */
public final class Jvm {

	private Jvm() {
	}

	/**
	 * Returns the garbage collector in use: {@code Serial}, {@code Parallel}, {@code G1}, {@code Z},
	 * {@code Shenandoah}, {@code Epsilon}, or {@code unknown} on a virtual machine that is not HotSpot.
	 */
	public static String gc() {
		return Stream.of("Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon")
			.filter((name) -> option("Use" + name + "GC").filter("true"::equals).isPresent())
			.findFirst()
			.orElse("unknown");
	}

	/** Returns the largest heap in bytes, survivor spaces included (which {@link Runtime#maxMemory()} leaves out). */
	public static long maxHeap() {
		return option("MaxHeapSize").map(Long::valueOf).orElseGet(() -> Runtime.getRuntime().maxMemory());
	}

	static Optional<String> option(String name) {
		HotSpotDiagnosticMXBean hotSpot = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
		try {
			return Optional.ofNullable(hotSpot).map((bean) -> bean.getVMOption(name).getValue());
		}
		// This virtual machine was built without that option.
		catch (IllegalArgumentException ex) {
			return Optional.empty();
		}
	}

}
