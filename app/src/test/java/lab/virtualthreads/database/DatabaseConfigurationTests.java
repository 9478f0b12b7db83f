package lab.virtualthreads.database;

import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class DatabaseConfigurationTests {

	private final WebApplicationContextRunner application = new WebApplicationContextRunner()
		.withUserConfiguration(DatabaseOnly.class)
		.withPropertyValues("lab.database.driver=9.7.0");

	@ParameterizedTest
	@ValueSource(strings = { "jdbc:mariadb://127.0.0.1/test", "jdbc:postgresql://127.0.0.1/test",
			"mysql://127.0.0.1/test", "jdbc:mariadb://127.0.0.1/test?user=root&password=secret-word", "" })
	void refusesOtherDatabasesWithoutPrintingTheUrl(String url) {
		this.application.withPropertyValues("spring.datasource.url=" + url).run((context) -> {
			assertThat(context).hasFailed();
			Throwable failure = context.getStartupFailure();
			assertThat(failure).hasRootCauseInstanceOf(OtherDatabaseFailureAnalyzer.OtherDatabaseException.class);
			assertThat(new OtherDatabaseFailureAnalyzer().analyze(failure).getDescription())
				.contains("spring.datasource.url must begin with jdbc:mysql:")
				.doesNotContain("secret-word");
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "5.1.49", "", "../drivers/mysql-connector-j-9.7.0" })
	void refusesAnUnknownDriverAndListsTheKnown(String version, @TempDir Path drivers) throws Exception {
		for (String known : new String[] { "9.7.0", "8.0.33" }) {
			Files.createFile(drivers.resolve("mysql-connector-j-" + known + ".jar"));
		}
		assertThatThrownBy(() -> ConnectorJ.load(drivers, version))
			.isInstanceOfSatisfying(InvalidConfigurationPropertyValueException.class, (ex) -> {
				assertThat(ex.getName()).isEqualTo("lab.database.driver");
				assertThat(ex.getValue()).isEqualTo(version);
				assertThat(ex.getReason()).endsWith(drivers.getFileName() + " has 8.0.33, 9.7.0");
			});
	}

	@Test
	void saysWhereThereAreNoDrivers() {
		this.application
			.withPropertyValues("spring.datasource.url=jdbc:mysql://127.0.0.1/test", "lab.database.drivers=target/none")
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining("target/none has no mysql-connector-j-*.jar"));
	}

	@Configuration(proxyBeanMethods = false)
	@Import(DatabaseConfiguration.class)
	@EnableConfigurationProperties(DatabaseProperties.class)
	static class DatabaseOnly {

	}

}
