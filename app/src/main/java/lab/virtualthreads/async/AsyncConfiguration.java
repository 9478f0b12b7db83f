package lab.virtualthreads.async;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

/**
 * The executors of {@code @Async("bounded")} and {@code @Async("virtual")}. Neither is a default candidate: otherwise
 * Spring Boot's {@code applicationTaskExecutor}, which is that of {@code @Async}, would back off.
 */
@Configuration(proxyBeanMethods = false)
@EnableAsync
class AsyncConfiguration {

	@Bean
	RejectedTasks rejectedTasks() {
		return new RejectedTasks("bounded");
	}

	@Bean
	TaskTimes taskTimes() {
		return new TaskTimes("bounded");
	}

	@Bean(defaultCandidate = false)
	ThreadPoolTaskExecutor bounded(RunProperties properties, RejectedTasks rejectedTasks, TaskTimes taskTimes) {
		ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
		executor.setCorePoolSize(properties.core());
		executor.setMaxPoolSize(properties.max());
		executor.setQueueCapacity(properties.queue());
		executor.setRejectedExecutionHandler(rejectedTasks);
		executor.setTaskDecorator(taskTimes::timed);
		executor.setThreadNamePrefix("run-bounded-");
		executor.setDaemon(true);
		// Requests that the graceful shutdown waits for still need it, and then the tasks that they wait for.
		executor.setAcceptTasksAfterContextClose(true);
		executor.setWaitForTasksToCompleteOnShutdown(true);
		return executor;
	}

	@Bean(defaultCandidate = false)
	SimpleAsyncTaskExecutor virtual() {
		SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("run-virtual-");
		executor.setVirtualThreads(true);
		return executor;
	}

}
