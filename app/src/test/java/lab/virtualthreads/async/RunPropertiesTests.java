package lab.virtualthreads.async;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

class RunPropertiesTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withUserConfiguration(PropertiesConfiguration.class);

	@ParameterizedTest
	@CsvSource({ "tasks, 0", "max-tasks, 999", "max-limit, 1", "core, 0", "max, 49", "queue, -1", "limit, 5" })
	void refusesABadSetting(String property, String value) {
		this.runner.withPropertyValues("lab.run." + property + "=" + value)
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("lab.run." + property));
	}

	@Configuration(proxyBeanMethods = false)
	@EnableConfigurationProperties(RunProperties.class)
	static class PropertiesConfiguration {

	}

}
