package lab.virtualthreads;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static lab.virtualthreads.LabApp.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * {@code application.use-virtual}, the explicit configuration, beside {@code spring.threads.virtual.enabled}.
 */
@ExtendWith(OutputCaptureExtension.class)
class UseVirtualTests {

	private static final String EXPLICIT = "--application.use-virtual=";

	private static final String PROPERTY = "--spring.threads.virtual.enabled=";

	@ParameterizedTest
	@EnumSource
	void givesTheKindOfThreadThatThePropertyDoes(Variant variant, CapturedOutput output) {
		Threads byProperty = threads(PROPERTY + variant.isVirtual());
		Threads explicit = threads(EXPLICIT + variant.isVirtual());
		Threads both = threads(PROPERTY + variant.isVirtual(), EXPLICIT + variant.isVirtual());
		assertThat(byProperty).isEqualTo(new Threads(variant.isVirtual(), variant.isVirtual(), false,
				variant.isVirtual() ? -1 : 200));
		assertThat(explicit).isEqualTo(byProperty);
		assertThat(both).isEqualTo(byProperty);
		assertThat(output.getOut().lines().filter((line) -> line.contains(" variant=" + variant + " "))).hasSize(3);
	}

	@Test
	void isPlatformThreadsWithoutEither() {
		assertThat(threads()).isEqualTo(new Threads(false, false, false, 200));
	}

	/** As published: a virtual thread without a name. */
	@Test
	void showsTheCarrierOfTheThread() {
		try (LabApp app = LabApp.start(EXPLICIT + "true")) {
			assertThat(json(app.get("/thread?duration=1ms")).get("threadName").stringValue())
				.matches("VirtualThread\\[#\\d+]/runnable@ForkJoinPool-1-worker-\\d+");
		}
	}

	@ParameterizedTest
	@CsvSource({ "true, false", "false, true" })
	void refusesToStartWhenTheyContradictEachOther(boolean explicit, boolean property) {
		assertThatThrownBy(() -> LabApp.start(EXPLICIT + explicit, PROPERTY + property)).rootCause()
			.hasMessage("application.use-virtual=%s contradicts spring.threads.virtual.enabled=%s: "
					.formatted(explicit, property) + "set only one of them, or both alike");
	}

	@Test
	void refusesToStartWhenItIsNeitherTrueNorFalse() {
		assertThatThrownBy(() -> LabApp.start(EXPLICIT + "maybe")).hasStackTraceContaining("maybe");
	}

	private static Threads threads(String... arguments) {
		try (LabApp app = LabApp.start(arguments)) {
			boolean request = json(app.get("/thread?duration=1ms")).get("isVirtual").booleanValue();
			boolean async = app.bean(AsyncProbe.class).thread().join().isVirtual();
			app.management("/actuator/health");
			boolean management = app.bean(LabApp.RequestThreads.class).ofHealth.isVirtual();
			return new Threads(request, async, management, app.metric("tomcat_threads_config_max_threads"));
		}
	}

	/**
	 * Which kind of thread is at work.
	 *
	 * @param request whether that of a request is virtual
	 * @param async whether that of an {@code @Async} method is
	 * @param management whether that of a request to the management port is
	 * @param pool the most threads that Tomcat's pool may have, -1 without a pool: what vtlab tells the variants by
	 */
	private record Threads(boolean request, boolean async, boolean management, double pool) {

	}

}
