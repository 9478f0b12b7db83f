package vtlab.agent.programs;

import java.lang.reflect.Proxy;
import java.sql.Connection;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/** A pool of three connections, two of them in use; for each line of its input one more thread takes one for good. */
final class HikariService {

	private HikariService() {
	}

	public static void main(String[] arguments) throws Exception {
		HikariConfig config = new HikariConfig();
		config.setPoolName("orders");
		config.setMaximumPoolSize(3);
		config.setRegisterMbeans(true);
		config.setConnectionTimeout(600_000);
		config.setDataSource(answering(DataSource.class, answering(Connection.class, null)));
		@SuppressWarnings("resource")
		HikariDataSource pool = new HikariDataSource(config);
		pool.getConnection();
		pool.getConnection();
		Program.serve("", (line) -> Thread.ofPlatform().daemon().start(() -> take(pool)));
	}

	private static void take(DataSource pool) {
		try {
			pool.getConnection();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** Returns an object whose methods answer with that, or with what is zero or true. */
	private static <T> T answering(Class<T> type, Object answer) {
		Class<?>[] types = { type };
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), types, (proxy, method, values) -> {
			Class<?> result = method.getReturnType();
			if (result == boolean.class) {
				return method.getName().equals("isValid");
			}
			if (result == int.class) {
				return 0;
			}
			return result.isInstance(answer) ? answer : null;
		}));
	}

}
