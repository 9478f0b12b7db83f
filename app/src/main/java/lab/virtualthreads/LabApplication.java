package lab.virtualthreads;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;

/**
 * The service under test. One workload per package; {@code spring.threads.virtual.enabled} alone makes it the variant
 * {@code virtual} instead of {@code platform}.
 */
@SpringBootApplication
@ConfigurationPropertiesScan
public class LabApplication {

	public static void main(String[] args) {
		SpringApplication.run(LabApplication.class, args);
	}

}
