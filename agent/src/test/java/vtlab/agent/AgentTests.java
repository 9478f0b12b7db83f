package vtlab.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The agent serves its page in the JVM of a service, started with it or attached, beside another agent. It is idle and
 * says why in any other JVM, where its port is taken, and where an option is wrong.
 */
@Tag("context")
class AgentTests {

	private static final Path JAVA = Path.of(System.getProperty("java.home"));

	private static final String PLAIN = "vtlab.agent.programs.Plain";

	@TempDir
	private Path directory;

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void servesItsPageAndNothingElse(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			assertThat(jvm.get("/metrics").statusCode()).isEqualTo(200);
			assertThat(jvm.get("/metrics").headers().firstValue("Content-Type"))
				.contains("text/plain; version=0.0.4; charset=utf-8");
			assertThat(jvm.get("/").statusCode()).isEqualTo(404);
			assertThat(jvm.errors().lines()).hasSize(1);
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void letsTheServiceEnd(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.run(java, List.of(agent("port=0"), "-cp", TestJvm.CLASS_PATH, PLAIN))) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.output()).isEqualTo("hello\n");
			assertThat(jvm.errors()).contains("metrics at http://127.0.0.1:");
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void worksBesideAnotherAgentBeforeAndAfterIt(Path java) throws IOException {
		Path other = jar("other.jar", "Premain-Class", "vtlab.agent.programs.OtherAgent",
				"vtlab/agent/programs/OtherAgent.class");
		for (List<String> agents : List.of(List.of("-javaagent:" + other, agent("port=0")),
				List.of(agent("port=0"), "-javaagent:" + other))) {
			List<String> arguments = List.of(agents.get(0), agents.get(1), "-cp", TestJvm.CLASS_PATH,
					"vtlab.agent.programs.Collections");
			try (TestJvm jvm = TestJvm.run(java, arguments)) {
				assertThat(jvm.metric("process_cpu_time_ns_total")).isNotNaN().isPositive();
				await().untilAsserted(() -> assertThat(jvm.errors()).contains("other agent"));
			}
		}
	}

	/** A service may decide on its logging, its MBeans and its recordings after the agent has started. */
	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void looksAtNothingBeforeTheFirstPage(Path java) throws IOException {
		Path loaded = this.directory.resolve("loaded");
		List<String> arguments = List.of("-Xlog:class+load:file=" + loaded, agent("port=0"), "-cp", TestJvm.CLASS_PATH,
				"vtlab.agent.programs.Collections");
		try (TestJvm jvm = TestJvm.run(java, arguments)) {
			await().until(() -> jvm.output().contains("ready"));
			assertThat(Files.readString(loaded)).contains("vtlab.agent.Agent ")
				.doesNotContain("java.util.logging.LogManager ", "javax.management.MBeanServer ",
						"jdk.jfr.consumer.RecordingStream ");
			jvm.page();
			await().until(() -> Files.readString(loaded).contains("jdk.jfr.consumer.RecordingStream "));
		}
	}

	/** The way that keeps an ahead-of-time cache which was made without the agent. */
	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void canBeAttachedAndThenTakesAnotherThreshold(Path java) throws Exception {
		List<String> arguments = List.of("-XX:+EnableDynamicAgentLoading", "-cp", TestJvm.CLASS_PATH,
				"vtlab.agent.programs.VirtualThreads");
		try (TestJvm jvm = TestJvm.run(java, arguments)) {
			await().until(() -> jvm.output().contains("ready"));
			attach(java, jvm, "port=0,pinned=60000");
			jvm.page();
			for (int i = 0; i < 3; i++) {
				jvm.send("pin");
			}
			await().until(() -> jvm.output().lines().filter("done pin"::equals).count() == 3);
			attach(java, jvm, "pinned=0");
			AtomicInteger later = new AtomicInteger();
			await().until(() -> {
				jvm.send("pin");
				later.incrementAndGet();
				return jvm.metric("jvm_threads_virtual_pinned_at_total", "Pinning$Sleeper") > 0;
			});
			assertThat(jvm.metric("jvm_threads_virtual_pinned_at_total", "Pinning$Sleeper")).isBetween(1.0,
					later.doubleValue());
			assertThat(jvm.errors().lines().filter((line) -> line.contains("metrics at"))).hasSize(1);
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void restsUntilTheNextPage(Path java) throws Exception {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			await().until(() -> jvm.metric("vtlab_agent_samples_total") > 0);
			List<String> measuring = List.of("vtlab-agent-sampler", "vtlab-agent-pinned");
			assertThat(threads(java, jvm)).contains(measuring);
			attach(java, jvm, "rest=1");
			await().until(() -> measuring.stream().noneMatch(threads(java, jvm)::contains));
			attach(java, jvm, "rest=1");
			assertThat(jvm.metric("process_cpu_time_ns_total")).isPositive();
			await().until(() -> jvm.metric("vtlab_agent_samples_total") > 0);
			assertThat(threads(java, jvm)).contains(measuring);
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void isIdleInAJvmThatIsNotTheService(Path java) throws IOException {
		Path plain = this.directory.resolve("vtlab/agent/programs/Plain.class");
		Files.createDirectories(plain.getParent());
		Files.copy(Path.of("target/test-classes/vtlab/agent/programs/Plain.class"), plain);
		assertIdle(java, List.of("-cp", this.directory.toString(), PLAIN), "no Spring Boot application");
	}

	@Test
	void isIdleInABuildTool() throws IOException {
		Path tool = jar("tool.jar", "Main-Class", "org.apache.maven.Tool", "vtlab/agent/programs/Plain.class");
		try (TestJvm jvm = TestJvm.run(JAVA, List.of(agent("port=0"), "-jar", tool.toString()))) {
			jvm.exitCode();
			assertThat(jvm.errors()).contains("vtlab-agent: idle in this JVM: it runs org.apache.maven.Tool");
		}
		assertIdle(JAVA, List.of("-Djarmode=tools", "-cp", TestJvm.CLASS_PATH, PLAIN), "a tool of Spring Boot's");
	}

	/** Its libraries are in the jar, where nobody sees them. */
	@Test
	void takesAnExecutableJarForTheService() throws IOException {
		Path jar = this.directory.resolve("app.jar");
		Manifest manifest = manifest("Main-Class", PLAIN);
		manifest.getMainAttributes().putValue("Spring-Boot-Version", "3.2.0");
		write(jar, manifest, "vtlab/agent/programs/Plain.class");
		try (TestJvm jvm = TestJvm.run(JAVA, List.of(agent("port=0"), "-jar", jar.toString(), "an argument"))) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.errors()).contains("metrics at");
		}
	}

	@Test
	void isIdleWhereItsPortIsTaken() throws IOException {
		try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				TestJvm jvm = TestJvm.run(JAVA, List.of(agent("host=127.0.0.1"), "-cp", TestJvm.CLASS_PATH, PLAIN),
						String.valueOf(taken.getLocalPort()))) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.output()).isEqualTo("hello\n");
			assertThat(jvm.errors()).contains("vtlab-agent: idle: it cannot listen on port " + taken.getLocalPort())
				.contains(Options.PORT_VARIABLE);
		}
	}

	@Test
	void isIdleWhereItsHostIsUnknown() throws IOException {
		List<String> arguments = List.of(agent("port=0,host=no.such.invalid"), "-cp", TestJvm.CLASS_PATH, PLAIN);
		try (TestJvm jvm = TestJvm.run(JAVA, arguments)) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.errors()).contains("vtlab-agent: idle: it cannot listen on port 0 of no.such.invalid");
		}
	}

	@Test
	void isIdleWhereItsOptionsAreWrong() throws IOException {
		try (TestJvm jvm = TestJvm.run(JAVA, List.of(agent("prot=1"), "-cp", TestJvm.CLASS_PATH, PLAIN))) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.errors()).contains("vtlab-agent: idle: 'prot=1' is no option");
		}
	}

	private static void assertIdle(Path java, List<String> arguments, String why) throws IOException {
		List<String> all = new ArrayList<>(List.of(agent("port=0")));
		all.addAll(arguments);
		try (TestJvm jvm = TestJvm.run(java, all)) {
			assertThat(jvm.exitCode()).isZero();
			assertThat(jvm.output()).isEqualTo("hello\n");
			assertThat(jvm.errors()).contains("vtlab-agent: idle in this JVM: " + why).doesNotContain("metrics at");
		}
	}

	private static void attach(Path java, TestJvm jvm, String options) throws IOException, InterruptedException {
		jcmd(java, jvm, "JVMTI.agent_load", TestJvm.AGENT.toString(), "\"" + options + "\"");
	}

	private static String threads(Path java, TestJvm jvm) throws IOException, InterruptedException {
		return jcmd(java, jvm, "Thread.print");
	}

	private static String jcmd(Path java, TestJvm jvm, String... order) throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(List.of(java.resolve("bin/jcmd").toString(), String.valueOf(jvm.pid())));
		command.addAll(List.of(order));
		Process jcmd = new ProcessBuilder(command).redirectErrorStream(true).start();
		String answer = new String(jcmd.getInputStream().readAllBytes());
		assertThat(jcmd.waitFor()).as(answer).isZero();
		return answer;
	}

	private static String agent(String options) {
		return "-javaagent:" + TestJvm.AGENT + "=" + options;
	}

	private Path jar(String name, String attribute, String value, String type) throws IOException {
		Path jar = this.directory.resolve(name);
		write(jar, manifest(attribute, value), type);
		return jar;
	}

	private static Manifest manifest(String attribute, String value) {
		Manifest manifest = new Manifest();
		manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
		manifest.getMainAttributes().putValue(attribute, value);
		return manifest;
	}

	private static void write(Path jar, Manifest manifest, String type) throws IOException {
		try (OutputStream file = Files.newOutputStream(jar);
				JarOutputStream out = new JarOutputStream(file, manifest)) {
			out.putNextEntry(new JarEntry(type));
			Files.copy(Path.of("target/test-classes", type), out);
		}
	}

}
