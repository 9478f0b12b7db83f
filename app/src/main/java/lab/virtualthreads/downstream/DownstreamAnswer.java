package lab.virtualthreads.downstream;

import com.fasterxml.jackson.annotation.JsonProperty;
import tools.jackson.databind.JsonNode;

/**
 * The outcome of a call.
 *
 * @param isVirtual whether a virtual thread waited for it here
 * @param downstream what the downstream answered
 */
record DownstreamAnswer(@JsonProperty("isVirtual") boolean isVirtual, JsonNode downstream) {

}
