package lab.virtualthreads.database;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Driver;
import java.util.List;
import java.util.stream.Stream;

import org.springframework.beans.BeanUtils;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.util.ClassUtils;

/**
 * The versions of MySQL Connector/J in a folder. None is on the class path, so that which one runs is a setting of the
 * same build.
 */
final class ConnectorJ {

	private static final String PREFIX = "mysql-connector-j-";

	private static final String SUFFIX = ".jar";

	private ConnectorJ() {
	}

	/**
	 * Loads a version from its jar. It stays for as long as the JVM runs: the driver has its own thread, which
	 * loads classes now and then, so its class loader is never closed.
	 * @throws InvalidConfigurationPropertyValueException when the folder does not have that version; the message lists
	 * those it has
	 */
	static Driver load(Path folder, String version) {
		List<String> versions = versions(folder);
		if (!versions.contains(version)) {
			throw new InvalidConfigurationPropertyValueException("lab.database.driver", version,
					"%s has %s".formatted(folder.toAbsolutePath().normalize(),
							versions.isEmpty() ? "no " + PREFIX + "*" + SUFFIX : String.join(", ", versions)));
		}
		try {
			URL jar = folder.resolve(PREFIX + version + SUFFIX).toUri().toURL();
			ClassLoader loader = new URLClassLoader(new URL[] { jar }, ConnectorJ.class.getClassLoader());
			return BeanUtils.instantiateClass(ClassUtils.forName("com.mysql.cj.jdbc.Driver", loader), Driver.class);
		}
		catch (IOException | ClassNotFoundException ex) {
			throw new IllegalStateException("Cannot load Connector/J %s from %s".formatted(version, folder), ex);
		}
	}

	private static List<String> versions(Path folder) {
		if (!Files.isDirectory(folder)) {
			return List.of();
		}
		try (Stream<Path> files = Files.list(folder)) {
			return files.map((file) -> file.getFileName().toString())
				.filter((name) -> name.startsWith(PREFIX) && name.endsWith(SUFFIX))
				.map((name) -> name.substring(PREFIX.length(), name.length() - SUFFIX.length()))
				.sorted()
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Cannot read the folder of drivers", ex);
		}
	}

}
