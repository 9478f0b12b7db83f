package lab.virtualthreads;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

class PropertiesTests {

	private final ApplicationContextRunner application = new ApplicationContextRunner()
		.withUserConfiguration(AllProperties.class)
		.withPropertyValues("lab.database.driver=9.7.0");

	@ParameterizedTest
	@CsvSource({ "lab.run, tasks, 0", "lab.run, tasks, 10001", "lab.run, core, 0", "lab.run, queue, -1",
			"lab.run, limit, 5", "lab.fan-out, tasks, 5", "lab.pinned, duration, 1s", "lab.database, url, none",
			"lab.downstream, max-connections, 0", "lab.downstream, connect-timeout, 0s",
			"lab.downstream, lease-timeout, -1s", "lab.downstream, response-timeout, 60s",
			"lab.downstream, retries, 3" })
	void refusesToStartWithABadOrUnknownValue(String prefix, String property, String value) {
		this.application.withPropertyValues(prefix + "." + property + "=" + value)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.message()
				.containsIgnoringCase(prefix)
				.satisfies((message) -> assertThat(message.replace("-", ""))
					.containsIgnoringCase(property.replace("-", ""))));
	}

	@ParameterizedTest
	@CsvSource({ "lab.run.max, 49, lab.run.max must be at least lab.run.core",
			"lab.fan-out.executor, pool9, pool9", "lab.run.executor, pool8, pool8",
			"lab.pinned.lock, stamped, stamped" })
	void refusesToStartAndSaysWhy(String property, String value, String message) {
		this.application.withPropertyValues(property + "=" + value)
			.run((context) -> assertThat(context).getFailure().hasStackTraceContaining(message));
	}

	/** Without its value, which may hold a password. */
	@ParameterizedTest
	@ValueSource(strings = { "downstream:8080", "ftp://downstream", "http://downstream:8080/thread",
			"http://user:word@downstream" })
	void refusesToStartWithABadUrlAndDoesNotPrintIt(String url) {
		this.application.withPropertyValues("lab.downstream.url=" + url)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("lab.downstream.url must be like")
				.hasMessageNotContaining("user:word"));
	}

	@Configuration(proxyBeanMethods = false)
	@ConfigurationPropertiesScan
	static class AllProperties {

	}

}
