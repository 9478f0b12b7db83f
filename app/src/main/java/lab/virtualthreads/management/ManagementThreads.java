package lab.virtualthreads.management;

import org.apache.coyote.ProtocolHandler;

import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.boot.tomcat.ConfigurableTomcatWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * The configuration that serves the management port on platform threads, whichever variant on Tomcat this is (for the
 * other see {@link ReactiveManagement}). On virtual threads its requests would queue for a carrier behind those of the
 * workload: with one carrier and a CPU-bound workload a scrape took seconds, and the variant went unmeasured just when
 * it was busiest.
 */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
@ConditionalOnWebApplication(type = Type.SERVLET)
class ManagementThreads {

	@Bean
	WebServerFactoryCustomizer<ConfigurableTomcatWebServerFactory> managementThreadsCustomizer() {
		return new Customizer();
	}

	/** A customizer that comes after Boot's own, which hands Tomcat an executor of virtual threads. */
	@Order(Ordered.LOWEST_PRECEDENCE)
	private static final class Customizer implements WebServerFactoryCustomizer<ConfigurableTomcatWebServerFactory> {

		@Override
		public void customize(ConfigurableTomcatWebServerFactory factory) {
			// Without an executor Tomcat makes its own pool, of platform threads.
			factory.addProtocolHandlerCustomizers((ProtocolHandler handler) -> handler.setExecutor(null));
		}

	}

}
