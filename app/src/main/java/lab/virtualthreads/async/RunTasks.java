package lab.virtualthreads.async;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;

import org.springframework.core.io.ClassPathResource;
import org.springframework.scheduling.annotation.Async;
import org.springframework.stereotype.Component;

/**
 * The tasks of the workloads {@code /run}, once for each executor.
 */
@Component
class RunTasks {

	private static final ClassPathResource FILE = new ClassPathResource("text.txt", RunTasks.class);

	@Async("bounded")
	CompletableFuture<Done> countPrimesOnBounded(int limit) {
		return done(countPrimes(limit));
	}

	@Async("virtual")
	CompletableFuture<Done> countPrimesOnVirtual(int limit) {
		return done(countPrimes(limit));
	}

	@Async("bounded")
	CompletableFuture<Done> readFileOnBounded() {
		return done(readFile());
	}

	@Async("virtual")
	CompletableFuture<Done> readFileOnVirtual() {
		return done(readFile());
	}

	private static CompletableFuture<Done> done(long result) {
		return CompletableFuture.completedFuture(new Done(Thread.currentThread(), result));
	}

	/** Counts the primes up to a limit, by trial division and not by a sieve: CPU without memory. */
	private static long countPrimes(int limit) {
		long primes = (limit >= 2) ? 1 : 0;
		for (int number = 3; number <= limit; number += 2) {
			if (hasNoOddDivisor(number)) {
				primes++;
			}
		}
		return primes;
	}

	private static boolean hasNoOddDivisor(int number) {
		for (int divisor = 3; divisor <= number / divisor; divisor += 2) {
			if (number % divisor == 0) {
				return false;
			}
		}
		return true;
	}

	/** Reads the whole file, anew each time, and returns how many bytes it has. */
	private static long readFile() {
		try (InputStream file = FILE.getInputStream()) {
			return file.readAllBytes().length;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** The result of a task. */
	record Done(Thread thread, long result) {

	}

}
