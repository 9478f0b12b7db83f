package lab.virtualthreads.downstream;

import io.micrometer.core.instrument.binder.httpcomponents.hc5.PoolingHttpClientConnectionManagerMetricsBinder;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.util.Timeout;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = Type.SERVLET)
class DownstreamConfiguration {

	@Bean
	PoolingHttpClientConnectionManager downstreamConnections(DownstreamProperties properties) {
		return PoolingHttpClientConnectionManagerBuilder.create()
			.setMaxConnTotal(properties.maxConnections())
			.setMaxConnPerRoute(properties.maxConnections())
			.setDefaultConnectionConfig(
					ConnectionConfig.custom().setConnectTimeout(Timeout.of(properties.connectTimeout())).build())
			.build();
	}

	@Bean
	CloseableHttpClient downstreamHttpClient(PoolingHttpClientConnectionManager downstreamConnections,
			DownstreamProperties properties) {
		return HttpClients.custom()
			.setConnectionManager(downstreamConnections)
			.setDefaultRequestConfig(RequestConfig.custom()
				.setConnectionRequestTimeout(Timeout.of(properties.leaseTimeout()))
				.setResponseTimeout(Timeout.of(properties.responseTimeout()))
				.build())
			// One request is one call: a retry would load a downstream twice that fails, and wait a second before it.
			.disableAutomaticRetries()
			.disableRedirectHandling()
			.disableCookieManagement()
			.build();
	}

	@Bean
	@Profile("!no-metrics")
	PoolingHttpClientConnectionManagerMetricsBinder downstreamConnectionsMetrics(
			PoolingHttpClientConnectionManager downstreamConnections) {
		return new PoolingHttpClientConnectionManagerMetricsBinder(downstreamConnections, "downstream");
	}

}
