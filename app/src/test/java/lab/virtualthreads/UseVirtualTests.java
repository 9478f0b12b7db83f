package lab.virtualthreads;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * {@code application.use-virtual} gives requests, {@code @Async} methods and the management port the threads that
 * {@code spring.threads.virtual.enabled} gives them.
 */
@Tag("context")
@ExtendWith(OutputCaptureExtension.class)
class UseVirtualTests {

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = { "--spring.main.banner-mode=off | false | http-nio-.+-exec-\\d+",
			"--spring.threads.virtual.enabled=true | true | "
					+ "VirtualThread\\[#\\d+,tomcat-handler-\\d+]/runnable@ForkJoinPool-1-worker-\\d+",
			"--application.use-virtual=false | false | http-nio-.+-exec-\\d+",
			// As published: a virtual thread without a name.
			"--application.use-virtual=true | true | VirtualThread\\[#\\d+]/runnable@ForkJoinPool-1-worker-\\d+" })
	void givesTheKindOfThread(String argument, boolean virtual, String threadName, CapturedOutput output) {
		try (LabApp app = LabApp.start(argument)) {
			JsonNode answer = json(app.get("/thread?duration=1ms"));
			assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(virtual);
			assertThat(answer.get("threadName").stringValue()).matches(threadName);
			assertThat(app.bean(AsyncProbe.class).thread().join().isVirtual()).isEqualTo(virtual);
			app.management("/actuator/health");
			assertThat(app.bean(LabApp.RequestThreads.class).ofHealth.isVirtual()).isFalse();
			// What vtlab tells the variants by: the most threads that Tomcat's pool may have, -1 without a pool.
			assertThat(app.metric("tomcat_threads_config_max_threads")).isEqualTo(virtual ? -1 : 200);
			assertThat(output).contains(" variant=" + (virtual ? "virtual " : "platform "));
		}
	}

}
