package lab.virtualthreads;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurationExcludeFilter;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.actuate.web.server.TomcatReactiveManagementContextAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.reactive.TomcatReactiveWebServerAutoConfiguration;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.context.annotation.FilterType;

/**
 * The service under test. One workload per package; {@code spring.threads.virtual.enabled} alone makes it the variant
 * {@code virtual} instead of {@code platform}.
 */
// There is a database only where one is configured (see the package database). The variant reactive runs on Netty, and
// does not start with a second server for it.
@SpringBootApplication(exclude = { DataSourceAutoConfiguration.class, TomcatReactiveWebServerAutoConfiguration.class,
		TomcatReactiveManagementContextAutoConfiguration.class })
@ComponentScan(excludeFilters = { @Filter(type = FilterType.CUSTOM, classes = TypeExcludeFilter.class),
		@Filter(type = FilterType.CUSTOM, classes = AutoConfigurationExcludeFilter.class),
		// Those of the management port only. Spring Boot applies them to it, as META-INF/spring lists them.
		@Filter(ManagementContextConfiguration.class) })
@ConfigurationPropertiesScan
public class LabApplication {

	public static void main(String[] args) {
		SpringApplication.run(LabApplication.class, args);
	}

}
