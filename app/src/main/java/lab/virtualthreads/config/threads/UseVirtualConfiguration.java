package lab.virtualthreads.config.threads;

import java.util.concurrent.Executors;

import org.apache.coyote.ProtocolHandler;

import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.task.SimpleAsyncTaskExecutorBuilder;
import org.springframework.boot.tomcat.TomcatProtocolHandlerCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * The explicit configuration: {@code application.use-virtual=true} does for requests and {@code @Async} methods by two
 * beans what {@code spring.threads.virtual.enabled=true} has Spring Boot do; {@code false}, as if it were not set,
 * leaves both to their pools. The application does not start where the two properties contradict each other.
 */
@Configuration(proxyBeanMethods = false)
class UseVirtualConfiguration {

	UseVirtualConfiguration(Environment environment) {
		ThreadKind.of(environment);
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBooleanProperty(ThreadKind.EXPLICIT)
	static class VirtualThreadsConfiguration {

		@Bean
		TomcatProtocolHandlerCustomizer<ProtocolHandler> virtualThreadPerRequest() {
			return (handler) -> handler.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
		}

		/**
		 * Creates the executor under the name by which Spring MVC looks for it, and that by which {@code @Async} does.
		 */
		@Bean({ "applicationTaskExecutor", "taskExecutor" })
		SimpleAsyncTaskExecutor applicationTaskExecutor(SimpleAsyncTaskExecutorBuilder builder) {
			return builder.virtualThreads(true).build();
		}

	}

}
