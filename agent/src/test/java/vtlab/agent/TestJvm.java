package vtlab.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import vtlab.testing.ScrapedMetrics;

import static org.awaitility.Awaitility.await;

/**
 * A JVM with the agent, of each JDK that the tests know: theirs, and the one at {@code JAVA_21_HOME}, the oldest of a
 * service.
 */
final class TestJvm implements AutoCloseable {

	static final Path AGENT = Path.of("target/vtlab-agent.jar").toAbsolutePath();

	/** The class path of these tests, with their libraries. */
	static final String CLASS_PATH = System.getProperty("surefire.test.class.path",
			System.getProperty("java.class.path"));

	private static final HttpClient CLIENT = HttpClient.newHttpClient();

	private final Process process;

	private final Path output;

	private final Path errors;

	private TestJvm(Process process, Path output, Path errors) {
		this.process = process;
		this.output = output;
		this.errors = errors;
	}

	/** Returns the homes of the JDKs. */
	static Stream<Path> javas() {
		return Stream.of(System.getProperty("java.home"), System.getenv("JAVA_21_HOME"))
			.filter((home) -> home != null && !home.isBlank())
			.map(Path::of)
			.distinct();
	}

	/** Starts a program of the tests with the agent, and waits until it is ready. */
	static TestJvm start(Path java, String program, String... arguments) {
		List<String> command = new ArrayList<>(List.of("-javaagent:" + AGENT + "=port=0", "-cp", CLASS_PATH,
				"vtlab.agent.programs." + program));
		command.addAll(Arrays.asList(arguments));
		TestJvm jvm = run(java, command);
		jvm.awaitOutput("ready");
		return jvm;
	}

	/** Starts any JVM. */
	static TestJvm run(Path java, List<String> arguments) {
		return run(java, arguments, "");
	}

	/**
	 * Starts any JVM with a port in its environment.
	 * @param port the port; empty for none
	 */
	static TestJvm run(Path java, List<String> arguments, String port) {
		try {
			Path output = Files.createTempFile("jvm", ".out");
			Path errors = Files.createTempFile("jvm", ".err");
			List<String> command = new ArrayList<>(List.of(java.resolve("bin/java").toString(),
					"-XX:TieredStopAtLevel=1", "-Xmx128m", "-XX:+UseSerialGC"));
			command.addAll(arguments);
			ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(output.toFile())
				.redirectError(errors.toFile());
			builder.environment().remove("JAVA_TOOL_OPTIONS");
			builder.environment().remove(Options.PORT_VARIABLE);
			if (!port.isEmpty()) {
				builder.environment().put(Options.PORT_VARIABLE, port);
			}
			return new TestJvm(builder.start(), output, errors);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Sends the program a line of input to work off. */
	void send(String line) {
		try {
			OutputStream input = this.process.getOutputStream();
			input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
			input.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(errors(), ex);
		}
	}

	/** Returns what the program said when it was ready. */
	String about() {
		return output().lines().filter((line) -> line.startsWith("ready ")).findFirst().orElseThrow().substring(6);
	}

	/** Sends one more request to the program. */
	CompletableFuture<Integer> request() {
		HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + about() + "/")).build();
		return CLIENT.sendAsync(request, BodyHandlers.discarding()).thenApply(HttpResponse::statusCode);
	}

	HttpResponse<String> get(String path) {
		try {
			HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + path)).build();
			return CLIENT.send(request, BodyHandlers.ofString());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(errors(), ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	String page() {
		return get("/metrics").body();
	}

	/** Returns the sum of a page's samples, by their name and parts of their labels; NaN where there is none. */
	double metric(String name, String... labels) {
		return ScrapedMetrics.sum(page().lines().toList(), name, labels);
	}

	int port() {
		await().until(() -> errors().contains("metrics at "));
		Matcher address = Pattern.compile("metrics at http://127\\.0\\.0\\.1:(\\d+)/metrics").matcher(errors());
		address.find();
		return Integer.parseInt(address.group(1));
	}

	long pid() {
		return this.process.pid();
	}

	int exitCode() {
		await().until(() -> !this.process.isAlive());
		return this.process.exitValue();
	}

	String output() {
		return read(this.output);
	}

	String errors() {
		return read(this.errors);
	}

	void awaitOutput(String word) {
		await().until(() -> {
			if (!this.process.isAlive()) {
				throw new IllegalStateException("it ended: " + errors());
			}
			return output().contains(word);
		});
	}

	private static String read(Path file) {
		try {
			return Files.readString(file);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.process.destroyForcibly();
		Files.deleteIfExists(this.output);
		Files.deleteIfExists(this.errors);
	}

}
