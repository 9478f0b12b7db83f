package lab.virtualthreads.database;

import java.nio.file.Path;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.Assert;

/**
 * The workloads {@code /stress} and the driver below them. Where the database is and how large the pool is say
 * {@code spring.datasource.url}, {@code username}, {@code password} and {@code hikari.maximum-pool-size}.
 *
 * @param maxDuration the longest wait a request may ask for, more than zero
 * @param driver the version of Connector/J
 * @param drivers the folder that has the drivers' jars; if null, {@code drivers} beside the application's jar
 */
@ConfigurationProperties(prefix = "lab.database", ignoreUnknownFields = false)
record DatabaseProperties(@DefaultValue("60s") Duration maxDuration, String driver, @Nullable Path drivers) {

	DatabaseProperties {
		Assert.isTrue(maxDuration.isPositive(),
				() -> "lab.database.max-duration must be more than 0, is " + maxDuration);
	}

}
