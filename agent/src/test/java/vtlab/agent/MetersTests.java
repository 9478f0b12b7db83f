package vtlab.agent;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import vtlab.agent.page.Page;
import vtlab.testing.ScrapedMetrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Each group of the agent's metrics has the figures of a real JVM in which it is known what there is to measure, on the
 * oldest and the newest JDK.
 */
@Tag("context")
class MetersTests {

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void process(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			assertThat(jvm.metric("process_cpu_time_ns_total")).isNotNaN().isPositive();
			assertThat(jvm.metric("process_resident_memory_bytes")).isNotNaN()
				.isGreaterThan(jvm.metric("jvm_memory_used_bytes", "area=\"heap\""));
			double peak = jvm.metric("process_resident_memory_peak_bytes");
			assertThat(peak).isNotNaN().isPositive();
			assertThat(jvm.metric("process_resident_memory_peak_bytes")).isGreaterThanOrEqualTo(peak);
			assertThat(jvm.metric("system_cpu_count")).isEqualTo(Runtime.getRuntime().availableProcessors());
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void jvm(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			String release = Files.readString(java.resolve("release"));
			String version = release.replaceAll("(?s).*JAVA_VERSION=\"([^\"]+)\".*", "$1");
			assertThat(jvm.metric("jvm_info", "version=\"" + version)).isEqualTo(1);
			assertThat(jvm.metric("jvm_gc_info", "name=\"Serial\"")).isEqualTo(1);
			assertThat(jvm.metric("jvm_compilation_time_ms_total", "compiler=")).isNotNaN().isPositive();
			assertThat(jvm.metric("vtlab_jit_cpu_seconds_total")).isNotNaN()
				.isPositive()
				.isLessThan(jvm.metric("process_cpu_time_ns_total") / 1e9);
			assertThat(jvm.metric("process_start_time_seconds")).isBetween(1.0, System.currentTimeMillis() / 1000.0);
			assertThat(jvm.metric("jvm_threads_live_threads")).isNotNaN().isPositive();
			assertThat(jvm.metric("jvm_threads_states_threads", "state=\"timed-waiting\"")).isNotNaN().isPositive();
			assertThat(jvm.metric("jvm_memory_max_bytes", "area=\"heap\"", "Tenured Gen")).isNotNaN().isPositive();
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void archivesOfClasses(Path java) throws IOException {
		// Of a JDK; a runtime that was linked may have none.
		String ofTheJdk = java.resolve("lib/server/classes.jsa").toString();
		boolean exists = Files.exists(Path.of(ofTheJdk));
		for (String archive : exists ? List.of(ofTheJdk, "absent.jsa") : List.of("absent.jsa")) {
			List<String> command = List.of("-XX:SharedArchiveFile=" + archive,
					"-javaagent:" + TestJvm.AGENT + "=port=0", "-cp", TestJvm.CLASS_PATH,
					"vtlab.agent.programs.Collections");
			try (TestJvm jvm = TestJvm.run(java, command)) {
				jvm.awaitOutput("ready");
				String name = Path.of(archive).getFileName().toString();
				assertThat(jvm.metric("jvm_class_archive_used", "name=\"" + name))
					.isEqualTo(archive.equals(ofTheJdk) ? 1 : 0);
			}
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void garbageCollector(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			assertThat(jvm.metric("jvm_gc_live_data_size_bytes")).isZero();
			jvm.send("collect");
			await().untilAsserted(() -> {
				assertThat(jvm.metric("jvm_gc_pause_seconds_count", "cause=\"System.gc()\"", "gc=\"MarkSweepCompact\""))
					.isEqualTo(1);
				assertThat(jvm.metric("jvm_gc_pause_seconds_sum")).isNotNaN();
				assertThat(jvm.metric("jvm_gc_live_data_size_bytes")).isNotNaN().isPositive()
					.isLessThan(jvm.metric("jvm_gc_max_data_size_bytes"));
				assertThat(jvm.metric("jvm_gc_memory_allocated_bytes_total")).isNotNaN().isPositive();
			});
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void tomcatOnPlatformThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "TomcatService")) {
			List<CompletableFuture<Integer>> requests = requests(jvm, 3);
			await().until(() -> jvm.metric("tomcat_threads_busy_threads") == 3);
			assertThat(jvm.metric("tomcat_threads_config_max_threads", "name=\"http-nio-auto-1\"")).isEqualTo(17);
			assertThat(jvm.metric("tomcat_threads_current_threads")).isBetween(3.0, 17.0);
			assertThat(jvm.metric("tomcat_connections_current_connections")).isBetween(3.0, 8192.0);
			assertThat(jvm.metric("tomcat_connections_config_max_connections")).isEqualTo(8192);
			assertGrows(jvm, "tomcat_threads_busy_seconds_total");
			jvm.send("release");
			assertThat(requests.stream().map(CompletableFuture::join)).containsOnly(200);
			await().until(() -> jvm.metric("tomcat_global_request_seconds_count") == 3);
			assertThat(jvm.metric("tomcat_global_request_seconds_sum")).isNotNaN().isPositive();
			assertThat(jvm.metric("tomcat_global_error_total")).isZero();
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void tomcatOnVirtualThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "TomcatService", "virtual")) {
			requests(jvm, 3);
			await().until(() -> jvm.metric("tomcat_connections_current_connections") >= 3);
			assertThat(jvm.metric("tomcat_threads_busy_threads")).isEqualTo(-1);
			assertThat(jvm.metric("tomcat_threads_busy_seconds_total")).isNaN();
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void jettyOnPlatformThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "JettyService")) {
			requests(jvm, 3);
			await().until(() -> jvm.metric("jetty_threads_utilized") == 3);
			assertThat(jvm.metric("jetty_threads_config_max", "pool=\"qtp")).isEqualTo(17);
			// Jetty keeps one for its acceptor and one for its selectors, at least.
			assertThat(jvm.metric("jetty_threads_requests_max")).isBetween(3.0, 15.0);
			assertThat(jvm.metric("jetty_threads_virtual")).isZero();
			assertThat(jvm.metric("jetty_threads_current")).isBetween(3.0, 17.0);
			assertThat(jvm.metric("jetty_threads_jobs")).isZero();
			assertGrows(jvm, "jetty_threads_utilized_seconds_total");
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void jettyOnVirtualThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "JettyService", "virtual")) {
			double before = jvm.metric("jetty_threads_utilized");
			requests(jvm, 3);
			await().until(() -> jvm.metric("jetty_threads_utilized") == before + 3);
			assertThat(jvm.metric("jetty_threads_config_max", "pool=\"virtual\"")).isEqualTo(13);
			assertThat(jvm.metric("jetty_threads_requests_max")).isEqualTo(13);
			assertThat(jvm.metric("jetty_threads_virtual")).isEqualTo(1);
			assertThat(jvm.metric("jetty_threads_current")).isNaN();
			assertGrows(jvm, "jetty_threads_utilized_seconds_total");
		}
	}

	/** As Spring Boot 3.2 has it. */
	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void jettyThatHandsOverToVirtualThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "JettyService", "handing-over")) {
			assertThat(jvm.metric("jetty_threads_current")).isNotNaN().isPositive();
			assertThat(jvm.metric("jetty_threads_config_max")).isNaN();
			assertThat(jvm.metric("jetty_threads_requests_max")).isNaN();
			assertThat(jvm.metric("jetty_threads_virtual")).isEqualTo(1);
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void hikari(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "HikariService")) {
			String pool = "pool=\"orders\"";
			assertThat(jvm.metric("hikaricp_connections_active", pool)).isEqualTo(2);
			assertThat(jvm.metric("hikaricp_connections_max", pool)).isEqualTo(3);
			assertGrows(jvm, "hikaricp_connections_active_seconds_total");
			assertThat(jvm.metric("hikaricp_connections_pending_seconds_total", pool)).isZero();
			jvm.send("take");
			jvm.send("take");
			await().until(() -> jvm.metric("hikaricp_connections_pending", pool) == 1);
			assertThat(jvm.metric("hikaricp_connections_active", pool)).isEqualTo(3);
			assertGrows(jvm, "hikaricp_connections_pending_seconds_total");
		}
	}

	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void virtualThreads(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "VirtualThreads")) {
			assertThat(jvm.metric("jvm_threads_virtual_alive_threads")).isEqualTo(7);
			assertThat(jvm.metric("jvm_threads_virtual_parallelism"))
				.isEqualTo(Runtime.getRuntime().availableProcessors());
			assertThat(jvm.metric("jvm_threads_virtual_carriers_threads")).isNotNaN().isPositive();
			assertThat(jvm.metric("jvm_threads_virtual_pool_size_threads")).isNotNaN().isPositive();
			assertThat(jvm.metric("jvm_threads_virtual_live_threads", "mounted")).isNotNaN();
			assertThat(jvm.metric("jvm_threads_virtual_live_threads", "queued")).isNotNaN();
			assertThat(jvm.metric("jvm_threads_virtual_submit_failed_total")).isZero();
			await().untilAsserted(() -> {
				jvm.send("pin");
				assertThat(jvm.metric("jvm_threads_virtual_pinned_at_seconds_total", "Pinning$Sleeper", "line=\""))
					.isNotNaN()
					.isPositive();
			});
			// What a place has is in the sum, and that is read later.
			assertThat(jvm.metric("jvm_threads_virtual_pinned_at_seconds_total", "Pinning$Sleeper")).isNotNaN()
				.isLessThanOrEqualTo(jvm.metric("jvm_threads_virtual_pinned_seconds_sum"));
			// Whoever is pinned is on a carrier.
			await().until(() -> {
				jvm.send("pin");
				return jvm.metric("jvm_threads_virtual_mounted_seconds_total") > 0;
			});
			assertThat(jvm.metric("jvm_threads_virtual_queued_seconds_total")).isNotNaN().isNotNegative();
		}
	}

	/** What the agent costs is its own figure, too. */
	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void theAgentItself(Path java) throws IOException {
		try (TestJvm jvm = TestJvm.start(java, "Collections")) {
			assertGrows(jvm, "vtlab_agent_samples_total");
			for (String thread : List.of("vtlab-agent-sampler", "vtlab-agent-http", "vtlab-agent-pinned",
					"HTTP-Dispatcher", "JFR Periodic Tasks")) {
				await(thread).until(() -> jvm.metric("vtlab_agent_cpu_seconds_total", "thread=\"" + thread + "\"") > 0);
			}
		}
	}

	/** As a sampler that ends and the next one are. Prometheus takes one sample of a series and drops the others. */
	@Test
	void threadsOfOneNameHaveOneFigure() {
		ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
		CountDownLatch isRead = new CountDownLatch(1);
		List<Thread> alike = Stream.generate(() -> OwnThreads.named("alike", () -> awaitEnd(isRead))).limit(2).toList();
		alike.forEach(Thread::start);
		Page page = new Page();
		double before;
		double after;
		try {
			await().until(() -> alike.stream().allMatch((thread) -> cpu.getThreadCpuTime(thread.threadId()) > 0));
			before = seconds(cpu, alike);
			new OwnThreads().write(page);
			after = seconds(cpu, alike);
		}
		finally {
			isRead.countDown();
		}
		Map<String, String> labels = Map.of("thread", "vtlab-agent-alike");
		assertThat(page.families().iterator().next().samples()).filteredOn((sample) -> sample.labels().equals(labels))
			.singleElement()
			.satisfies((sample) -> assertThat(sample.value()).isBetween(before, after));
	}

	/** The table in README.md has the rest. */
	@ParameterizedTest
	@MethodSource("vtlab.agent.TestJvm#javas")
	void haveTheNamesThatVtlabReads(Path java) throws IOException {
		Set<String> served = new TreeSet<>();
		for (String program : List.of("Collections", "TomcatService", "HikariService")) {
			try (TestJvm jvm = TestJvm.start(java, program)) {
				jvm.page();
				jvm.send("go");
				await().until(() -> !program.equals("Collections")
						|| !Double.isNaN(jvm.metric("jvm_gc_pause_seconds_count")));
				jvm.page().lines().map((line) -> line.replaceFirst("[{ ].*", "")).forEach(served::add);
			}
		}
		String readme = Files.readString(Path.of("README.md"));
		assertThat(ScrapedMetrics.namesThatVtlabReads()).hasSizeGreaterThan(20)
			.filteredOn((name) -> !served.contains(name))
			// Without a limit here, CgroupTests has these names.
			.filteredOn((name) -> !name.startsWith("cgroup_"))
			.isNotEmpty()
			.allSatisfy((name) -> assertThat(readme).contains("`" + name + "`"));
	}

	private static List<CompletableFuture<Integer>> requests(TestJvm jvm, int count) {
		return Stream.generate(jvm::request).limit(count).toList();
	}

	private static void awaitEnd(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static double seconds(ThreadMXBean cpu, List<Thread> threads) {
		return threads.stream().mapToLong((thread) -> cpu.getThreadCpuTime(thread.threadId())).sum() / 1e9;
	}

	/** Asserts that a gauge is integrated from the first page on. */
	private static void assertGrows(TestJvm jvm, String name) {
		double before = jvm.metric(name);
		assertThat(before).isNotNaN();
		await().until(() -> jvm.metric(name) > before);
	}

}
