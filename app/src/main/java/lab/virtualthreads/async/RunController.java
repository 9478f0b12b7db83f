package lab.virtualthreads.async;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.async.RunTasks.Done;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.core.task.TaskRejectedException;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workloads of {@code @Async}: {@code GET /run/cpu?executor=bounded&limit=100000} has many tasks count the primes up to
 * a limit, {@code GET /run/io?executor=virtual} has them read a file of the class path, and both wait for all. An
 * application may have one for requests that name none ({@code lab.run.executor}). With {@code tasks} they run as many as that, otherwise {@code lab.run.tasks}.
 * <p>
 * The limit goes from 1 to {@code lab.run.max-limit}, tasks from 1 to {@code lab.run.max-tasks}. Where the bounded pool
 * rejects a task the answer is 503. Then, as when the request is interrupted, its tasks are cancelled: those in the queue
 * end as soon as a thread takes them, those that run go on to their end.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class RunController {

	private final RunTasks runTasks;

	private final RunProperties properties;

	private final Parameter<RunExecutor> executor;

	private final Parameter<Long> tasks;

	private final Parameter<Long> limit;

	RunController(RunTasks runTasks, RunProperties properties) {
		this.runTasks = runTasks;
		this.properties = properties;
		this.executor = Parameter.oneOf("executor", RunExecutor.class).orElse(properties.executor());
		this.tasks = Parameter.wholeNumber("tasks", 1, properties.maxTasks()).orElse((long) properties.tasks());
		this.limit = Parameter.wholeNumber("limit", 1, properties.maxLimit())
			.orElse(Math.min(100_000L, properties.maxLimit()));
	}

	@GetMapping(path = "/run/cpu", produces = MediaType.APPLICATION_JSON_VALUE)
	RunAnswer cpu(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.executor, this.limit, this.tasks);
		int limit = parameters.get(this.limit).intValue();
		return run(parameters, switch (parameters.get(this.executor)) {
			case BOUNDED -> () -> this.runTasks.countPrimesOnBounded(limit);
			case VIRTUAL -> () -> this.runTasks.countPrimesOnVirtual(limit);
		});
	}

	@GetMapping(path = "/run/io", produces = MediaType.APPLICATION_JSON_VALUE)
	RunAnswer io(HttpServletRequest request) throws InterruptedException {
		Parameters parameters = Parameters.read(request, this.executor, this.tasks);
		return run(parameters, switch (parameters.get(this.executor)) {
			case BOUNDED -> this.runTasks::readFileOnBounded;
			case VIRTUAL -> this.runTasks::readFileOnVirtual;
		});
	}

	private RunAnswer run(Parameters parameters, Supplier<CompletableFuture<Done>> task) throws InterruptedException {
		int tasks = parameters.get(this.tasks).intValue();
		List<CompletableFuture<Done>> futures = new ArrayList<>(tasks);
		long start = System.nanoTime();
		try {
			while (futures.size() < tasks) {
				futures.add(task.get());
			}
			CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).get();
		}
		catch (TaskRejectedException ex) {
			throw new TaskRejectedProblem(futures.size(), tasks, this.properties, ex);
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException("A task failed", ex.getCause());
		}
		finally {
			// To one that has ended it does nothing.
			futures.forEach((future) -> future.cancel(false));
		}
		double seconds = (System.nanoTime() - start) / 1e9;
		return RunAnswer.of(parameters.get(this.executor), futures.stream().map(CompletableFuture::join).toList(),
				seconds);
	}

}
