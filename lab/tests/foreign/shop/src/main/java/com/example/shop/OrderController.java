package com.example.shop;

import java.time.Duration;
import java.util.concurrent.Semaphore;

import javax.sql.DataSource;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * What a request may wait for inside the service. Each takes at least {@code duration}.
 */
@RestController
class OrderController {

	private final Semaphore packers = new Semaphore(11);

	private final Object[] printers = { new Object(), new Object(), new Object() };

	private final JdbcClient database;

	private final TransactionTemplate transaction;

	OrderController(DataSource source) {
		this.database = JdbcClient.create(source);
		this.transaction = new TransactionTemplate(new DataSourceTransactionManager(source));
	}

	/** Waits for nothing that is scarce. */
	@GetMapping("/wait")
	String waiting(@RequestParam Duration duration) throws InterruptedException {
		Thread.sleep(duration);
		return "done";
	}

	/** Eleven at a time. */
	@GetMapping("/pack")
	String pack(@RequestParam Duration duration) throws InterruptedException {
		this.packers.acquire();
		try {
			Thread.sleep(duration);
		}
		finally {
			this.packers.release();
		}
		return "packed";
	}

	/** A transaction keeps its connection for as long as it takes. */
	@GetMapping("/order")
	int order(@RequestParam Duration duration) {
		return this.transaction.execute((status) -> {
			int answer = this.database.sql("select 42").query(Integer.class).single();
			pause(duration);
			return answer;
		});
	}

	/** A lock around a wait: three at a time. */
	@GetMapping("/print")
	String print(@RequestParam Duration duration, @RequestParam(defaultValue = "0") int printer) {
		synchronized (this.printers[printer % this.printers.length]) {
			pause(duration);
		}
		return "printed";
	}

	static void pause(Duration duration) {
		try {
			Thread.sleep(duration);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
