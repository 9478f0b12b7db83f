package lab.virtualthreads.planted;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

import javax.sql.DataSource;

import lab.virtualthreads.cpu.HashChain;
import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Requests that hold a connection of the pool for a short time alone, and for long under load, for the tests of vtlab,
 * where {@code lab.planted.connection} is set. More connections would not help.
 */
@RestController
@RequestMapping("/planted/connection")
@ConditionalOnProperty("lab.planted.connection")
class PlantedConnectionController {

	private final DataSource pool;

	private final ReentrantLock lock = new ReentrantLock(true);

	private final AtomicInteger inFlight = new AtomicInteger();

	PlantedConnectionController(DataSource pool) {
		this.pool = pool;
	}

	/** Waits in the database, with the lock of a row that every request wants. */
	@GetMapping("/row")
	void row(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) throws Exception {
		withConnection((connection) -> {
			connection.setAutoCommit(false);
			query(connection, "select id from lab_member where id = 1 for update");
			query(connection, "select sleep(" + seconds(duration) + ")");
			connection.commit();
		});
	}

	/** Waits with a lock that every request wants. */
	@GetMapping("/lock")
	void lock(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) throws Exception {
		withConnection((connection) -> {
			this.lock.lock();
			try {
				Thread.sleep(duration.next(Wait.MOST_SECONDS));
			}
			finally {
				this.lock.unlock();
			}
		});
	}

	/** Waits, once for each request in flight, those without a connection among them. */
	@GetMapping("/wait")
	void sleep(@RequestParam @DurationMax(seconds = 1) Wait duration) throws Exception {
		withConnection((connection) -> {
			Duration once = duration.next(1);
			Thread.sleep(once.multipliedBy(this.inFlight.get()));
		});
	}

	/** Computes, once for each request in flight, those without a connection among them. */
	@GetMapping("/computation")
	void compute(@RequestParam @Range(min = 1, max = 100_000) long iterations) throws Exception {
		withConnection((connection) -> HashChain.compute(iterations * this.inFlight.get()));
	}

	private void withConnection(Work work) throws Exception {
		this.inFlight.incrementAndGet();
		try (Connection connection = this.pool.getConnection()) {
			work.with(connection);
		}
		finally {
			this.inFlight.decrementAndGet();
		}
	}

	private static double seconds(Wait wait) {
		return wait.next(Wait.MOST_SECONDS).toNanos() / 1e9;
	}

	private static void query(Connection connection, String sql) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(sql)) {
			statement.execute();
		}
	}

	/** The work that is done while the connection is held. */
	private interface Work {

		void with(Connection connection) throws Exception;

	}

}
