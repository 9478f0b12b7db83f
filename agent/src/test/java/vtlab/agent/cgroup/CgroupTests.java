package vtlab.agent.cgroup;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import vtlab.agent.page.Page;
import vtlab.testing.ScrapedMetrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * Reads what kernels and container runtimes really present, below a temporary root.
 */
class CgroupTests {

	private static final String V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw\n";

	private static final String V1_MOUNTS = """
			31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
			32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
			35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:10 - cgroup cgroup rw,memory
			""";

	@TempDir
	private Path root;

	@Test
	void v2() throws IOException {
		file("proc/self/cgroup", "0::/kubepods/pod1/c1\n");
		file("proc/self/mountinfo", V2_MOUNT);
		file("sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "50000 100000\n");
		file("sys/fs/cgroup/kubepods/pod1/c1/cpu.stat",
				"usage_usec 900\nnr_periods 40\nnr_throttled 7\nthrottled_usec 1500000\n");
		file("sys/fs/cgroup/kubepods/pod1/c1/memory.max", "536870912\n");
		file("sys/fs/cgroup/kubepods/pod1/c1/memory.current", "1048576\n");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).hasValue(0.5);
		assertThat(cgroup.cpuPeriods()).hasValue(40);
		assertThat(cgroup.cpuThrottledPeriods()).hasValue(7);
		assertThat(cgroup.cpuThrottledSeconds().getAsDouble()).isCloseTo(1.5, within(1e-9));
		assertThat(cgroup.memoryLimit()).hasValue(536870912);
		assertThat(cgroup.memoryUsage()).hasValue(1048576);
	}

	@Test
	void v2InANamespace() throws IOException {
		file("proc/self/cgroup", "0::/\n");
		file("proc/self/mountinfo", V2_MOUNT);
		file("sys/fs/cgroup/cpu.max", "150000 100000\n");
		assertThat(Cgroup.read(this.root).cpuLimit()).hasValue(1.5);
	}

	@Test
	void v1() throws IOException {
		file("proc/self/cgroup", "4:memory:/docker/abc\n3:cpuacct,cpu:/docker/abc\n1:name=systemd:/docker/abc\n");
		file("proc/self/mountinfo", V1_MOUNTS);
		file("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "25000\n");
		file("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "50000\n");
		file("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat",
				"nr_periods 12\nnr_throttled 3\nthrottled_time 2500000000\n");
		file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n");
		file("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "4096\n");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).hasValue(0.5);
		assertThat(cgroup.cpuPeriods()).hasValue(12);
		assertThat(cgroup.cpuThrottledPeriods()).hasValue(3);
		assertThat(cgroup.cpuThrottledSeconds().getAsDouble()).isCloseTo(2.5, within(1e-9));
		assertThat(cgroup.memoryLimit()).hasValue(268435456);
		assertThat(cgroup.memoryUsage()).hasValue(4096);
	}

	@Test
	void v1WithOnlyTheOwnGroupMounted() throws IOException {
		file("proc/self/cgroup", "3:cpu,cpuacct:/docker/abc/inner\n");
		file("proc/self/mountinfo",
				"32 31 0:29 /docker/abc /sys/fs/cgroup/cpu\\040acct ro - cgroup cgroup rw,cpu,cpuacct\n");
		file("sys/fs/cgroup/cpu acct/cpu.cfs_quota_us", "300000\n");
		file("sys/fs/cgroup/cpu acct/cpu.cfs_period_us", "100000\n");
		file("sys/fs/cgroup/cpu acct/inner/cpu.cfs_quota_us", "-1\n");
		file("sys/fs/cgroup/cpu acct/inner/cpu.cfs_period_us", "100000\n");
		assertThat(Cgroup.read(this.root).cpuLimit()).hasValue(3);
	}

	@Test
	void hybrid() throws IOException {
		file("proc/self/cgroup", "4:memory:/agent\n2:cpuacct:/\n1:cpu:/lab/platform\n0::/\n");
		file("proc/self/mountinfo", """
				32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
				33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
				35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
				41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
				""");
		file("sys/fs/cgroup/unified/cpu.max", "1000 100000\n");
		file("sys/fs/cgroup/cpu/lab/platform/cpu.cfs_quota_us", "100000\n");
		file("sys/fs/cgroup/cpu/lab/platform/cpu.cfs_period_us", "100000\n");
		file("sys/fs/cgroup/cpu/lab/platform/cpu.stat", "nr_periods 5\nnr_throttled 1\nthrottled_time 1000\n");
		file("sys/fs/cgroup/memory/agent/memory.limit_in_bytes", "9223372036854771712\n");
		file("sys/fs/cgroup/memory/agent/memory.usage_in_bytes", "8192\n");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).hasValue(1);
		assertThat(cgroup.cpuPeriods()).hasValue(5);
		assertThat(cgroup.memoryLimit()).isEmpty();
		assertThat(cgroup.memoryUsage()).hasValue(8192);
	}

	@Test
	void noLimit() throws IOException {
		file("proc/self/cgroup", "0::/user.slice\n");
		file("proc/self/mountinfo", V2_MOUNT);
		file("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
		file("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 900\nuser_usec 800\n");
		file("sys/fs/cgroup/user.slice/memory.max", "max\n");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).isEmpty();
		assertThat(cgroup.cpuPeriods()).isEmpty();
		assertThat(cgroup.cpuThrottledSeconds()).isEmpty();
		assertThat(cgroup.memoryLimit()).isEmpty();
	}

	@Test
	void nestedLimitsTakeTheSmallestAndItsThrottling() throws IOException {
		file("proc/self/cgroup", "0::/a/b/c\n");
		file("proc/self/mountinfo", V2_MOUNT);
		limit("a", "400000 100000", "nr_periods 1\nnr_throttled 1\n", "4000");
		limit("a/b", "30000 20000", "nr_periods 2\nnr_throttled 2\n", "2000");
		limit("a/b/c", "max 100000", "nr_periods 0\nnr_throttled 0\n", "3000");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).hasValue(1.5);
		assertThat(cgroup.cpuPeriods()).hasValue(2);
		assertThat(cgroup.memoryLimit()).hasValue(2000);
	}

	@Test
	void noCgroupsAtAll() {
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).isEmpty();
		assertThat(cgroup.memoryUsage()).isEmpty();
		assertThat(scrape(cgroup)).isEmpty();
	}

	@Test
	void nonsenseIsNoLimit() throws IOException {
		file("proc/self/cgroup", "\nnonsense\n0::/a/../../etc\n");
		file("proc/self/mountinfo", "nonsense - \n\n1 2 - cgroup2\n" + V2_MOUNT);
		file("sys/fs/cgroup/cpu.max", "much\n");
		file("sys/fs/cgroup/memory.max", "\n");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(cgroup.cpuLimit()).isEmpty();
		assertThat(cgroup.memoryLimit()).isEmpty();
	}

	@Test
	void metersHaveUnitsAndGoWithTheirFiles() throws IOException {
		file("proc/self/cgroup", "0::/a\n");
		file("proc/self/mountinfo", V2_MOUNT);
		limit("a", "50000 100000", "nr_periods 40\nnr_throttled 7\nthrottled_usec 1500000\n", "2000");
		Cgroup cgroup = Cgroup.read(this.root);
		assertThat(scrape(cgroup).lines().filter((line) -> !line.startsWith("#"))).containsExactlyInAnyOrder(
				"cgroup_cpu_limit_cores 0.5", "cgroup_cpu_periods_total 40.0", "cgroup_cpu_throttled_periods_total 7.0",
				"cgroup_cpu_throttled_time_seconds_total 1.5", "cgroup_memory_limit_bytes 2000.0");
		assertThat(ScrapedMetrics.namesThatVtlabReads()).filteredOn((name) -> name.startsWith("cgroup_"))
			.hasSize(5)
			.allSatisfy((name) -> assertThat(scrape(cgroup)).containsPattern("(?m)^" + name + " "));
		Files.delete(this.root.resolve("sys/fs/cgroup/a/cpu.stat"));
		Files.delete(this.root.resolve("sys/fs/cgroup/a/memory.max"));
		assertThat(scrape(cgroup)).contains("cgroup_cpu_limit_cores 0.5")
			.doesNotContain("cgroup_cpu_periods_total", "cgroup_memory_limit_bytes");
	}

	private static String scrape(Cgroup cgroup) {
		Page page = new Page();
		new CgroupMeters(cgroup).write(page);
		return page.text();
	}

	private void limit(String group, String cpuMax, String cpuStat, String memoryMax) throws IOException {
		file("sys/fs/cgroup/" + group + "/cpu.max", cpuMax + "\n");
		file("sys/fs/cgroup/" + group + "/cpu.stat", cpuStat);
		file("sys/fs/cgroup/" + group + "/memory.max", memoryMax + "\n");
	}

	private void file(String path, String content) throws IOException {
		Path file = this.root.resolve(path);
		Files.createDirectories(file.getParent());
		Files.writeString(file, content);
	}

}
