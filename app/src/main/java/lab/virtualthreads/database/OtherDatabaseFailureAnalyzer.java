package lab.virtualthreads.database;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * An explanation, in a few lines, that there is no driver for such a database. It leaves out the URL, which may hold a
 * password: Spring Boot prints every value that it knows from a property.
 */
class OtherDatabaseFailureAnalyzer
		extends AbstractFailureAnalyzer<OtherDatabaseFailureAnalyzer.OtherDatabaseException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, OtherDatabaseException cause) {
		return new FailureAnalysis(cause.getMessage(),
				"Set spring.datasource.url to jdbc:mysql://HOST:PORT/NAME (for a MariaDB, too).", cause);
	}

	/** Thrown where the URL is of another database. */
	static class OtherDatabaseException extends RuntimeException {

		OtherDatabaseException() {
			super("spring.datasource.url must begin with jdbc:mysql:");
		}

	}

}
