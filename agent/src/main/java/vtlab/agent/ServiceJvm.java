package vtlab.agent;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;

/**
 * The check that a JVM runs the service. {@code JAVA_TOOL_OPTIONS} reaches every JVM that is started with it: build
 * tools and launchers among them.
 */
final class ServiceJvm {

	private static final String APPLICATION = "org/springframework/boot/SpringApplication.class";

	/** Main classes of tools that have the service on the class path, and are not the service. */
	private static final List<String> TOOLS = List.of("org.apache.maven.", "org.gradle.", "worker.org.gradle.",
			"org.junit.platform.console.", "com.intellij.");

	private ServiceJvm() {
	}

	/** Returns what the JVM is instead of the service; empty for the service. */
	static Optional<String> otherThanTheService() {
		if (System.getProperty("jarmode") != null) {
			return Optional.of("a tool of Spring Boot's runs in it (jarmode)");
		}
		Optional<Attributes> jar = jar();
		String main = jar.map((attributes) -> attributes.getValue(Attributes.Name.MAIN_CLASS))
			.orElseGet(() -> System.getProperty("sun.java.command", ""));
		if (TOOLS.stream().anyMatch(main::startsWith)) {
			return Optional.of("it runs " + main.split(" ")[0]);
		}
		boolean executable = jar.map((attributes) -> attributes.getValue("Spring-Boot-Version")).isPresent();
		if (executable || ClassLoader.getSystemResource(APPLICATION) != null) {
			return Optional.empty();
		}
		return Optional.of("no Spring Boot application is on its class path");
	}

	/** Returns the manifest of {@code java -jar}, whose jar is the whole class path. */
	private static Optional<Attributes> jar() {
		Path path = Path.of(System.getProperty("java.class.path", "").split(System.getProperty("path.separator"))[0]);
		if (!System.getProperty("sun.java.command", "").startsWith(path.toString()) || !Files.isRegularFile(path)) {
			return Optional.empty();
		}
		try (JarFile jar = new JarFile(path.toFile())) {
			return Optional.ofNullable(jar.getManifest()).map((manifest) -> manifest.getMainAttributes());
		}
		catch (IOException ex) {
			return Optional.empty();
		}
	}

}
