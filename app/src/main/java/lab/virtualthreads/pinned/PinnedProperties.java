package lab.virtualthreads.pinned;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * A default of the workload {@code /pinned}.
 *
 * @param lock the lock of a request that names none; null when a request must
 */
@ConfigurationProperties(prefix = "lab.pinned", ignoreUnknownFields = false)
record PinnedProperties(@Nullable LockKind lock) {
}
