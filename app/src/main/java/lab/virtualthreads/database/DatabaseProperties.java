package lab.virtualthreads.database;

import java.nio.file.Path;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The workloads {@code /stress} and the driver below them. The properties {@code spring.datasource.url},
 * {@code username}, {@code password} and {@code hikari.maximum-pool-size} say where the database is and how large the
 * pool is.
 *
 * @param driver the version of Connector/J
 * @param drivers the folder that has the drivers' jars; if null, {@code drivers} beside the application's jar
 */
@ConfigurationProperties(prefix = "lab.database", ignoreUnknownFields = false)
record DatabaseProperties(String driver, @Nullable Path drivers) {
}
