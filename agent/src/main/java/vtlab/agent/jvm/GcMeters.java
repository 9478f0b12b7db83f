package vtlab.agent.jvm;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Garbage collections from the first page on, as the JVM announces each of them.
 */
public final class GcMeters implements Meters {

	/** Names of the collectors whose collections find out what lives; all others collect young objects only. */
	private static final Set<String> FULL = Set.of("MarkSweepCompact", "PS MarkSweep", "G1 Old Generation",
			"ZGC Major Cycles", "ZGC Cycles", "Shenandoah Cycles");

	private final Map<Pause, Total> pauses = new TreeMap<>();

	private List<String> young = List.of();

	private List<String> old = List.of();

	private boolean listening;

	private double allocated;

	private long youngAfter;

	private double live;

	private double most;

	@Override
	public synchronized void write(Page page) {
		listen();
		page.gauge("jvm_gc_live_data_size_bytes", "Old generation in use after a full collection; 0 before the first",
				this.live);
		page.gauge("jvm_gc_max_data_size_bytes", "Old generation that there may be", this.most);
		page.counter("jvm_gc_memory_allocated_bytes_total",
				"Growth of the young generation from collection to collection", this.allocated);
		this.pauses.forEach((pause, total) -> page.timer("jvm_gc_pause_seconds",
				"Time in which all other threads stood still", total.count, total.seconds, "action", pause.action(),
				"cause", pause.cause(), "gc", pause.gc()));
	}

	private void listen() {
		if (this.listening) {
			return;
		}
		this.listening = true;
		this.young = pools((name) -> name.endsWith("Eden Space") || name.equals("ZGC Young Generation")
				|| name.equals("ZHeap") || name.equals("Shenandoah"));
		this.old = pools((name) -> name.endsWith("Old Gen") || name.endsWith("Tenured Gen")
				|| name.equals("ZGC Old Generation") || name.equals("ZHeap") || name.equals("Shenandoah"));
		this.most = ManagementFactory.getMemoryPoolMXBeans()
			.stream()
			.filter((pool) -> this.old.contains(pool.getName()))
			.mapToLong((pool) -> pool.getUsage().getMax())
			.sum();
		for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
			if (collector instanceof NotificationEmitter emitter) {
				emitter.addNotificationListener((notification, context) -> count(notification), null, null);
			}
		}
	}

	private static List<String> pools(Predicate<String> names) {
		return ManagementFactory.getMemoryPoolMXBeans().stream().map(MemoryPoolMXBean::getName).filter(names).toList();
	}

	private void count(Notification notification) {
		if (notification.getType().equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION)) {
			count(GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData()));
		}
	}

	private synchronized void count(GarbageCollectionNotificationInfo collection) {
		GcInfo info = collection.getGcInfo();
		Pause pause = new Pause(collection.getGcAction(), collection.getGcCause(), collection.getGcName());
		if (!pause.isConcurrent()) {
			Total total = this.pauses.computeIfAbsent(pause, (key) -> new Total());
			total.count++;
			total.seconds += info.getDuration() / 1000.0;
		}
		long youngBefore = used(info.getMemoryUsageBeforeGc(), this.young, MemoryUsage::getUsed);
		this.allocated += Math.max(youngBefore - this.youngAfter, 0);
		this.youngAfter = used(info.getMemoryUsageAfterGc(), this.young, MemoryUsage::getUsed);
		if (FULL.contains(pause.gc())) {
			this.live = used(info.getMemoryUsageAfterGc(), this.old, MemoryUsage::getUsed);
			this.most = used(info.getMemoryUsageAfterGc(), this.old, MemoryUsage::getMax);
		}
	}

	private static long used(Map<String, MemoryUsage> usages, List<String> pools, ToLongFunction<MemoryUsage> value) {
		return pools.stream().map(usages::get).mapToLong(value).sum();
	}

	/** The properties that tell collections apart. */
	private record Pause(String action, String cause, String gc) implements Comparable<Pause> {

		/** Returns whether the collection runs beside the service, which does not stand still. */
		boolean isConcurrent() {
			return this.gc.endsWith("Cycles") || this.gc.startsWith("G1 Concurrent") || this.cause.equals("No GC");
		}

		@Override
		public int compareTo(Pause other) {
			return toString().compareTo(other.toString());
		}

	}

	/** Number and duration of the collections of one kind. */
	private static final class Total {

		private long count;

		private double seconds;

	}

}
