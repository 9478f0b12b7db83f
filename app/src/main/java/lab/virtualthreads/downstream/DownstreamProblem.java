package lab.virtualthreads.downstream;

import java.net.SocketTimeoutException;

import org.apache.hc.client5.http.ConnectTimeoutException;
import org.apache.hc.core5.http.ConnectionRequestTimeoutException;
import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.util.StringUtils;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.RestClientException;
import org.springframework.web.client.RestClientResponseException;

/**
 * A call that failed, as a problem document (RFC 9457):
 * <ul>
 * <li>503: nothing was sent, because there is no downstream or no connection of the pool was free in time,</li>
 * <li>504: the downstream took longer to accept a connection or to begin its answer than it may,</li>
 * <li>502: it cannot be reached, broke off, answered an error or something that is no answer.</li>
 * </ul>
 */
final class DownstreamProblem extends ErrorResponseException {

	private DownstreamProblem(HttpStatus status, String detail, @Nullable Throwable cause) {
		super(status, ProblemDetail.forStatusAndDetail(status, detail), cause);
	}

	static DownstreamProblem noUrl() {
		return new DownstreamProblem(HttpStatus.SERVICE_UNAVAILABLE, "There is no downstream: set lab.downstream.url "
				+ "(LAB_DOWNSTREAM_URL in the environment), such as http://downstream:8080, and start again", null);
	}

	static DownstreamProblem empty(DownstreamProperties properties) {
		return new DownstreamProblem(HttpStatus.BAD_GATEWAY,
				"The downstream at %s answered nothing".formatted(properties.url()), null);
	}

	static DownstreamProblem of(RestClientException ex, DownstreamProperties properties) {
		if (ex instanceof RestClientResponseException response) {
			return new DownstreamProblem(HttpStatus.BAD_GATEWAY,
					"The downstream at %s answered %d: %s".formatted(properties.url(), response.getStatusCode().value(),
							StringUtils.truncate(response.getResponseBodyAsString(), 500)),
					ex);
		}
		return switch (ex.getCause()) {
			case ConnectionRequestTimeoutException queued -> new DownstreamProblem(HttpStatus.SERVICE_UNAVAILABLE,
					"None of the %d connections to %s was free in %d ms (lab.downstream.lease-timeout)"
						.formatted(properties.maxConnections(), properties.url(), properties.leaseTimeout().toMillis()),
					ex);
			case ConnectTimeoutException connecting -> new DownstreamProblem(HttpStatus.GATEWAY_TIMEOUT,
					"The downstream at %s accepted no connection in %d ms (lab.downstream.connect-timeout)"
						.formatted(properties.url(), properties.connectTimeout().toMillis()),
					ex);
			case SocketTimeoutException waiting -> new DownstreamProblem(HttpStatus.GATEWAY_TIMEOUT,
					"The downstream at %s did not answer in %d ms (lab.downstream.response-timeout)"
						.formatted(properties.url(), properties.responseTimeout().toMillis()),
					ex);
			case null, default -> new DownstreamProblem(HttpStatus.BAD_GATEWAY,
					"The call to the downstream at %s failed: %s".formatted(properties.url(),
							ex.getMostSpecificCause()),
					ex);
		};
	}

}
