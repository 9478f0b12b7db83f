package vtlab.agent.hikari;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import vtlab.agent.page.Beans;
import vtlab.agent.page.Beans.Bean;
import vtlab.agent.page.Integral;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * Pools of database connections. HikariCP registers its MBeans where
 * {@code spring.datasource.hikari.register-mbeans} is true.
 */
public final class HikariMeters implements Meters {

	private static final String ACTIVE = "ActiveConnections";

	private static final String PENDING = "ThreadsAwaitingConnection";

	private final Map<Bean, Use> uses = new ConcurrentHashMap<>();

	@Override
	public void write(Page page) {
		this.uses.keySet().removeIf((pool) -> Double.isNaN(pool.number(ACTIVE)));
		for (Bean pool : Beans.find("com.zaxxer.hikari:type=Pool (*)")) {
			String[] labels = { "pool", nameOf(pool) };
			Use use = this.uses.computeIfAbsent(pool, (key) -> new Use(new Integral(), new Integral()));
			page.gauge("hikaricp_connections", "Connections", pool.number("TotalConnections"), labels);
			page.gauge("hikaricp_connections_active", "Connections in use", pool.number(ACTIVE), labels);
			page.gauge("hikaricp_connections_idle", "Connections that nobody uses", pool.number("IdleConnections"),
					labels);
			page.gauge("hikaricp_connections_pending", "Threads that wait for a connection", pool.number(PENDING),
					labels);
			page.counter("hikaricp_connections_active_seconds_total", "Time that connections were in use, in all",
					use.active().value(), labels);
			page.counter("hikaricp_connections_pending_seconds_total",
					"Time that threads waited for a connection, in all", use.pending().value(), labels);
		}
		for (Bean settings : Beans.find("com.zaxxer.hikari:type=PoolConfig (*)")) {
			String[] labels = { "pool", nameOf(settings) };
			page.gauge("hikaricp_connections_max", "Connections that there may be", settings.number("MaximumPoolSize"),
					labels);
			page.gauge("hikaricp_connections_min", "Idle connections that there should be",
					settings.number("MinimumIdle"), labels);
		}
	}

	@Override
	public void sample(double seconds) {
		this.uses.forEach((pool, use) -> {
			use.active().add(pool.number(ACTIVE), seconds);
			use.pending().add(pool.number(PENDING), seconds);
		});
	}

	/** Returns the name of a pool: {@code orders} for the type {@code Pool (orders)}. */
	private static String nameOf(Bean bean) {
		String type = bean.key("type");
		return type.substring(type.indexOf('(') + 1, type.length() - 1);
	}

	/** The integrals of a pool's use over time. */
	private record Use(Integral active, Integral pending) {
	}

}
