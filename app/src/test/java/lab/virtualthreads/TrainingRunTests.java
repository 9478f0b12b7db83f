package lab.virtualthreads;

import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The training run of an ahead-of-time cache serves every workload, on platform and on virtual threads. A workload
 * without training would start slower than the others.
 */
@Tag("context")
@ExtendWith(OutputCaptureExtension.class)
class TrainingRunTests {

	@AfterEach
	void forgetTomcat() {
		LabApp.forgetTomcat();
	}

	@Test
	void servesEveryWorkloadInBothModes(CapturedOutput output) throws Exception {
		TrainingRun.train(1, "--logging.level.org.springframework.web.servlet.DispatcherServlet=debug");
		String[] modes = output.getOut().split("variant=");
		assertThat(modes).hasSize(3);
		assertThat(modes[1]).startsWith("platform ");
		assertThat(modes[2]).startsWith("virtual ");
		Set<String> workloads = workloads();
		assertThat(workloads).isNotEmpty();
		assertThat(served(modes[1])).isEqualTo(workloads);
		assertThat(served(modes[2])).isEqualTo(workloads);
	}

	/**
	 * Returns every path that a controller has, but that of errors, those that need a database or a downstream, and the
	 * one whose requests take their time-out.
	 */
	private static Set<String> workloads() {
		try (LabApp app = LabApp.start(Variant.PLATFORM)) {
			return app.bean(RequestMappingHandlerMapping.class)
				.getHandlerMethods()
				.keySet()
				.stream()
				.flatMap((mapping) -> mapping.getPatternValues().stream())
				.filter((path) -> !path.matches("/error|/stress/.*|/downstream|/locked-out"))
				.collect(Collectors.toSet());
		}
	}

	private static Set<String> served(String log) {
		return Pattern.compile("GET \"(/[^?\"]*)")
			.matcher(log)
			.results()
			.map((MatchResult match) -> match.group(1))
			.filter((path) -> !path.startsWith("/actuator/"))
			.collect(Collectors.toSet());
	}

}
