package lab.virtualthreads.downstream;

import java.time.Duration;

import lab.virtualthreads.web.Wait;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.hibernate.validator.constraints.time.DurationMax;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.http.MediaType;
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClientException;

/**
 * The workload that waits for another service: {@code GET /downstream?duration=1s} calls {@code /thread} of a second
 * process of this application at {@code lab.downstream.url}, over a connection of a pool. Errors are 502, 503 and 504
 * (see {@link DownstreamProblem}).
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class DownstreamController {

	private final DownstreamProperties properties;

	private final @Nullable RestClient client;

	DownstreamController(DownstreamProperties properties, RestClient.Builder builder, CloseableHttpClient httpClient) {
		this.properties = properties;
		this.client = (properties.url() == null) ? null
				: builder.baseUrl(properties.url())
					.requestFactory(new HttpComponentsClientHttpRequestFactory(httpClient))
					.build();
	}

	@GetMapping(path = "/downstream", produces = MediaType.APPLICATION_JSON_VALUE)
	DownstreamAnswer downstream(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration)
			throws InterruptedException {
		if (this.client == null) {
			throw DownstreamProblem.noUrl();
		}
		JsonNode answer = call(this.client, duration.next(Wait.MOST_SECONDS));
		return new DownstreamAnswer(Thread.currentThread().isVirtual(), answer);
	}

	private JsonNode call(RestClient client, Duration duration) throws InterruptedException {
		JsonNode answer;
		try {
			answer = client.get()
				.uri("/thread?duration={duration}", duration)
				.accept(MediaType.APPLICATION_JSON)
				.retrieve()
				.body(JsonNode.class);
		}
		catch (RestClientException ex) {
			// Waits for a connection and for an answer say it in different ways, but leave the status of the thread.
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			throw DownstreamProblem.of(ex, this.properties);
		}
		if (answer == null) {
			throw DownstreamProblem.empty(this.properties);
		}
		return answer;
	}

}
