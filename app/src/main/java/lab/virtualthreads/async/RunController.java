package lab.virtualthreads.async;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

import lab.virtualthreads.async.RunTasks.Done;
import lab.virtualthreads.web.ParameterException;
import org.hibernate.validator.constraints.Range;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.core.task.TaskRejectedException;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The workloads of {@code @Async}: {@code GET /run/cpu?executor=bounded&limit=100000} has many tasks count the primes
 * up to a limit, {@code GET /run/io?executor=virtual} has them read a file of the class path, and both wait for all.
 * {@code lab.run.executor} and {@code lab.run.tasks} are those of requests that name none. One task up to 1,000,000
 * takes about a tenth of a second of CPU.
 * <p>
 * Where the bounded pool rejects a task the answer is 503. Then, as when the request is interrupted, its tasks are
 * cancelled: those in the queue end as soon as a thread takes them, those that run continue to their end.
 */
@RestController
@ConditionalOnWebApplication(type = Type.SERVLET)
class RunController {

	private final RunTasks runTasks;

	private final RunProperties properties;

	RunController(RunTasks runTasks, RunProperties properties) {
		this.runTasks = runTasks;
		this.properties = properties;
	}

	@GetMapping(path = "/run/cpu", produces = MediaType.APPLICATION_JSON_VALUE)
	RunAnswer cpu(@RequestParam(required = false) @Nullable RunExecutor executor,
			@RequestParam(defaultValue = "100000") @Range(min = 1, max = 1_000_000) long limit,
			@RequestParam(required = false) @Range(min = 1, max = 10_000) @Nullable Long tasks)
			throws InterruptedException {
		RunExecutor kind = ParameterException.requireNonNull("executor", executor, this.properties.executor());
		return run(kind, tasks, switch (kind) {
			case BOUNDED -> () -> this.runTasks.countPrimesOnBounded((int) limit);
			case VIRTUAL -> () -> this.runTasks.countPrimesOnVirtual((int) limit);
		});
	}

	@GetMapping(path = "/run/io", produces = MediaType.APPLICATION_JSON_VALUE)
	RunAnswer io(@RequestParam(required = false) @Nullable RunExecutor executor,
			@RequestParam(required = false) @Range(min = 1, max = 10_000) @Nullable Long tasks)
			throws InterruptedException {
		RunExecutor kind = ParameterException.requireNonNull("executor", executor, this.properties.executor());
		return run(kind, tasks, switch (kind) {
			case BOUNDED -> this.runTasks::readFileOnBounded;
			case VIRTUAL -> this.runTasks::readFileOnVirtual;
		});
	}

	private RunAnswer run(RunExecutor executor, @Nullable Long wanted, Supplier<CompletableFuture<Done>> task)
			throws InterruptedException {
		int tasks = (wanted != null) ? wanted.intValue() : this.properties.tasks();
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
		return RunAnswer.of(executor, futures.stream().map(CompletableFuture::join).toList(),
				seconds);
	}

}
