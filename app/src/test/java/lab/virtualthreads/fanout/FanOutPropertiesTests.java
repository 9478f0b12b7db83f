package lab.virtualthreads.fanout;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

class FanOutPropertiesTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withUserConfiguration(PropertiesConfiguration.class);

	@ParameterizedTest
	@CsvSource({ "max-tasks, 0", "max-duration, 0s", "max-iterations, 0", "tasks, 5" })
	void refusesABadSetting(String property, String value) {
		this.runner.withPropertyValues("lab.fan-out." + property + "=" + value)
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("lab.fan-out." + property));
	}

	@Configuration(proxyBeanMethods = false)
	@EnableConfigurationProperties(FanOutProperties.class)
	static class PropertiesConfiguration {

	}

}
