package lab.virtualthreads.management;

import io.micrometer.observation.ObservationRegistry;
import reactor.netty.resources.LoopResources;

import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.ReactorResourceFactory;

/**
 * The management port of the variant {@code reactive}, as the others have it: its requests neither share the workload's
 * event loops nor count among the workload's requests. A scrape would always find itself in flight.
 */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
@ConditionalOnWebApplication(type = Type.REACTIVE)
class ReactiveManagement {

	@Bean
	ReactorResourceFactory managementEventLoop() {
		ReactorResourceFactory resources = new ReactorResourceFactory();
		resources.setUseGlobalResources(false);
		resources.setLoopResourcesSupplier(() -> LoopResources.create("management", 1, true));
		return resources;
	}

	@Bean
	WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementEventLoopCustomizer(
			ReactorResourceFactory managementEventLoop) {
		return (factory) -> factory.setResourceFactory(managementEventLoop);
	}

	@Bean
	ObservationRegistry managementObservationRegistry() {
		return ObservationRegistry.NOOP;
	}

}
