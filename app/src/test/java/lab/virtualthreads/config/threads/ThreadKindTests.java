package lab.virtualthreads.config.threads;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.mock.env.MockEnvironment;

import static org.assertj.core.api.Assertions.assertThat;

class ThreadKindTests {

	@ParameterizedTest
	@CsvSource({ ",, PLATFORM", "true,, VIRTUAL", "false,, PLATFORM", ",true, VIRTUAL", ",false, PLATFORM",
			"true, true, VIRTUAL", "false, false, PLATFORM" })
	void isWhatEitherPropertySays(String explicit, String property, ThreadKind kind) {
		MockEnvironment environment = new MockEnvironment();
		if (explicit != null) {
			environment.setProperty("application.use-virtual", explicit);
		}
		if (property != null) {
			environment.setProperty("spring.threads.virtual.enabled", property);
		}
		assertThat(ThreadKind.of(environment)).isEqualTo(kind);
	}

	@ParameterizedTest
	@CsvSource({ "true, false", "false, true" })
	void refusesToStartWhenTheyContradictEachOther(boolean explicit, boolean property) {
		new ApplicationContextRunner().withUserConfiguration(UseVirtualConfiguration.class)
			.withPropertyValues("application.use-virtual=" + explicit, "spring.threads.virtual.enabled=" + property)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessage("application.use-virtual=%s contradicts spring.threads.virtual.enabled=%s: "
					.formatted(explicit, property) + "set only one of them, or both alike"));
	}

	@Test
	void refusesToStartWhenItIsNeitherTrueNorFalse() {
		new ApplicationContextRunner().withUserConfiguration(UseVirtualConfiguration.class)
			.withPropertyValues("application.use-virtual=maybe")
			.run((context) -> assertThat(context).getFailure().hasStackTraceContaining("maybe"));
	}

}
