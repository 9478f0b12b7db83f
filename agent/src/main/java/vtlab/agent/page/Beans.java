package vtlab.agent.page;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * MBeans of the service, where its libraries register them.
 */
public final class Beans {

	private Beans() {
	}

	/** Returns the MBeans that match one of the patterns now. */
	public static List<Bean> find(String... patterns) {
		MBeanServer server = server();
		return Stream.of(patterns)
			.flatMap((pattern) -> names(server, pattern).stream())
			.map((name) -> new Bean(server, name))
			.toList();
	}

	/** Returns the server that libraries ask for, too: the first in the JVM, and else the platform's. */
	private static MBeanServer server() {
		List<MBeanServer> servers = MBeanServerFactory.findMBeanServer(null);
		return servers.isEmpty() ? ManagementFactory.getPlatformMBeanServer() : servers.getFirst();
	}

	private static Set<ObjectName> names(MBeanServer server, String pattern) {
		try {
			return server.queryNames(new ObjectName(pattern), null);
		}
		catch (MalformedObjectNameException ex) {
			throw new IllegalArgumentException(pattern, ex);
		}
	}

	/** One MBean of the service. */
	public record Bean(MBeanServer server, ObjectName name) {

		/** Returns the number in an attribute; NaN where there is none, or the bean is gone. */
		public double number(String attribute) {
			try {
				return (this.server.getAttribute(this.name, attribute) instanceof Number number) ? number.doubleValue()
						: Double.NaN;
			}
			catch (JMException | RuntimeException ex) {
				return Double.NaN;
			}
		}

		/** Returns a key of the bean's name, without quotation marks. */
		public String key(String property) {
			return this.name.getKeyProperty(property).replace("\"", "");
		}

	}

}
