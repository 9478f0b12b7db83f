package vtlab.agent.jetty;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import vtlab.agent.page.Integral;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Jetty's pools of threads, or what stands in for one under virtual threads.
 */
public final class JettyMeters implements Meters {

	private final Map<JettyPool, Integral> busy = new ConcurrentHashMap<>();

	@Override
	public void write(Page page) {
		List<JettyPool> pools = JettyPool.running();
		this.busy.keySet().retainAll(pools);
		for (JettyPool pool : pools) {
			String[] labels = { "pool", pool.name() };
			page.gauge("jetty_threads_config_max", "Threads, or tasks on virtual threads, that there may be",
					pool.max(), labels);
			page.gauge("jetty_threads_requests_max",
					"Requests that may have one of them at a time: without the threads that Jetty keeps for itself",
					pool.forRequests(), labels);
			page.gauge("jetty_threads_virtual", "1 where requests have virtual threads",
					pool.servesOnVirtualThreads() ? 1 : 0, labels);
			page.gauge("jetty_threads_current", "Threads of the pool", pool.current(), labels);
			page.gauge("jetty_threads_utilized", "Threads that have a task; without acceptors, selectors and reserve",
					pool.utilized(), labels);
			page.gauge("jetty_threads_jobs", "Tasks that wait for a thread", pool.queued(), labels);
			page.counter("jetty_threads_utilized_seconds_total", "Time that threads had a task, in all",
					this.busy.computeIfAbsent(pool, (key) -> new Integral()).value(), labels);
		}
	}

	@Override
	public void sample(double seconds) {
		this.busy.forEach((pool, integral) -> integral.add(pool.utilized(), seconds));
	}

}
