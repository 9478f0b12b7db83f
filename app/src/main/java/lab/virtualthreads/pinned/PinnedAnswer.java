package lab.virtualthreads.pinned;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The way in which a request waited.
 *
 * @param isVirtual whether it was on a virtual thread
 * @param lock what it held meanwhile: {@code monitor} or {@code reentrant}
 */
record PinnedAnswer(@JsonProperty("isVirtual") boolean isVirtual, String lock) {

}
