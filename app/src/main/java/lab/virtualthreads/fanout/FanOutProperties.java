package lab.virtualthreads.fanout;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * A default of the workload {@code /fan-out}.
 *
 * @param executor the executor of a request that names none; null when a request must
 */
@ConfigurationProperties(prefix = "lab.fan-out", ignoreUnknownFields = false)
record FanOutProperties(@Nullable FanOutExecutor executor) {
}
