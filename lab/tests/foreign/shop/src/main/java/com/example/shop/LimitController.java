package com.example.shop;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A wait behind a limit that has no meter, of any size: so many threads of an executor, permits of a semaphore, tokens
 * a second, locks of the code, or rows of the database that a request locks.
 */
@RestController
class LimitController {

	private final ConcurrentMap<String, Limit> limits = new ConcurrentHashMap<>();

	private final JdbcClient database;

	private final TransactionTemplate transaction;

	private volatile boolean hasRows;

	LimitController(DataSource source) {
		this.database = JdbcClient.create(source);
		this.transaction = new TransactionTemplate(new DataSourceTransactionManager(source));
	}

	@GetMapping("/limited")
	String serve(@RequestParam String kind, @RequestParam int size, @RequestParam Duration duration) throws Exception {
		String name = kind + "/" + size;
		Limit limit = this.limits.get(name);
		if (limit == null) {
			limit = this.limits.computeIfAbsent(name, (key) -> create(kind, size));
		}
		limit.serve(duration);
		return "served";
	}

	private Limit create(String kind, int size) {
		return switch (kind) {
			case "executor" -> ofExecutor(size);
			case "semaphore" -> ofSemaphore(size);
			case "bucket" -> ofBucket(size);
			case "lock" -> ofLocks(size);
			case "row" -> ofRows(size);
			default -> throw new IllegalArgumentException("No limit is called " + kind);
		};
	}

	private static Limit ofExecutor(int threads) {
		ExecutorService executor = Executors.newFixedThreadPool(threads, Thread.ofPlatform().daemon().factory());
		return (duration) -> executor.submit(() -> OrderController.pause(duration)).get();
	}

	private static Limit ofSemaphore(int permits) {
		Semaphore semaphore = new Semaphore(permits);
		return (duration) -> {
			semaphore.acquire();
			try {
				OrderController.pause(duration);
			}
			finally {
				semaphore.release();
			}
		};
	}

	private static Limit ofBucket(int tokens) {
		TokenBucket bucket = new TokenBucket(tokens);
		return (duration) -> {
			bucket.take();
			OrderController.pause(duration);
		};
	}

	/** Each request takes the next lock: so many are served at a time. */
	private static Limit ofLocks(int count) {
		Lock[] locks = IntStream.range(0, count).mapToObj((each) -> new ReentrantLock(true)).toArray(Lock[]::new);
		AtomicInteger requests = new AtomicInteger();
		return (duration) -> {
			Lock lock = locks[Math.floorMod(requests.getAndIncrement(), count)];
			lock.lock();
			try {
				OrderController.pause(duration);
			}
			finally {
				lock.unlock();
			}
		};
	}

	/** Each request locks the next row. */
	private Limit ofRows(int count) {
		AtomicInteger requests = new AtomicInteger();
		return (duration) -> {
			createRows();
			int row = Math.floorMod(requests.getAndIncrement(), count);
			this.transaction.executeWithoutResult((status) -> {
				lockRow(row);
				OrderController.pause(duration);
			});
		};
	}

	private void lockRow(int row) {
		this.database.sql("select id from counter where id = ? for update").param(row).query(Integer.class).single();
	}

	/** A hundred rows, with the first request that needs them. */
	private void createRows() {
		if (this.hasRows) {
			return;
		}
		synchronized (this) {
			if (!this.hasRows) {
				this.database.sql("create table counter (id int primary key)").update();
				this.database.sql("insert into counter select x from system_range(0, 99)").update();
				this.hasRows = true;
			}
		}
	}

	/** What a request waits for, and then does. */
	private interface Limit {

		void serve(Duration duration) throws Exception;

	}

}
