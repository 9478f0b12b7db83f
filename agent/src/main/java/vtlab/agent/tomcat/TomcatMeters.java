package vtlab.agent.tomcat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import vtlab.agent.page.Beans;
import vtlab.agent.page.Beans.Bean;
import vtlab.agent.page.Integral;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Threads, connections and requests of the service's connectors. Spring Boot registers Tomcat's MBeans where
 * {@code server.tomcat.mbeanregistry.enabled} is true. A server of Spring Boot's management has another domain,
 * {@code Tomcat-1}, and is none of the service.
 */
public final class TomcatMeters implements Meters {

	private final Map<Bean, Integral> busy = new ConcurrentHashMap<>();

	@Override
	public void write(Page page) {
		this.busy.keySet().removeIf((pool) -> Double.isNaN(pool.number("currentThreadsBusy")));
		for (Bean pool : Beans.find("Tomcat:type=ThreadPool,name=*", "Catalina:type=ThreadPool,name=*")) {
			pool(page, pool);
		}
		for (Bean requests : Beans.find("Tomcat:type=GlobalRequestProcessor,name=*",
				"Catalina:type=GlobalRequestProcessor,name=*")) {
			requests(page, requests);
		}
	}

	@Override
	public void sample(double seconds) {
		this.busy.forEach((pool, integral) -> integral.add(pool.number("currentThreadsBusy"), seconds));
	}

	private void pool(Page page, Bean pool) {
		String[] labels = { "name", pool.key("name") };
		page.gauge("tomcat_threads_config_max_threads", "Threads that there may be; -1 without a pool",
				pool.number("maxThreads"), labels);
		page.gauge("tomcat_threads_current_threads", "Threads of the pool", pool.number("currentThreadCount"), labels);
		double busyNow = pool.number("currentThreadsBusy");
		page.gauge("tomcat_threads_busy_threads", "Threads that have a request; -1 without a pool", busyNow, labels);
		if (busyNow >= 0) {
			page.counter("tomcat_threads_busy_seconds_total", "Time that threads had a request, in all",
					this.busy.computeIfAbsent(pool, (key) -> new Integral()).value(), labels);
		}
		page.gauge("tomcat_connections_config_max_connections", "Connections that Tomcat accepts",
				pool.number("maxConnections"), labels);
		page.gauge("tomcat_connections_current_connections", "Connections accepted", pool.number("connectionCount"),
				labels);
		page.gauge("tomcat_connections_keepalive_current_connections", "Connections that wait for a next request",
				pool.number("keepAliveCount"), labels);
	}

	private static void requests(Page page, Bean requests) {
		String[] labels = { "name", requests.key("name") };
		page.timer("tomcat_global_request_seconds", "Requests answered, whole milliseconds of each",
				requests.number("requestCount"), requests.number("processingTime") / 1000, labels);
		page.counter("tomcat_global_error_total", "Requests answered with 400 or above", requests.number("errorCount"),
				labels);
	}

}
