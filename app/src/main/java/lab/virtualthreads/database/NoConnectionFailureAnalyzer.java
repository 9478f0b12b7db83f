package lab.virtualthreads.database;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.CannotGetJdbcConnectionException;

/**
 * An explanation, in a few lines, why the application does not start without its database.
 */
class NoConnectionFailureAnalyzer extends AbstractFailureAnalyzer<CannotGetJdbcConnectionException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, CannotGetJdbcConnectionException cause) {
		return new FailureAnalysis("No connection to the database: " + NestedExceptionUtils.getMostSpecificCause(cause),
				"Check that a MySQL or MariaDB answers at spring.datasource.url, and that it takes "
						+ "spring.datasource.username and password. The application waits for it as long as "
						+ "spring.datasource.hikari.initialization-fail-timeout says (in ms).",
				cause);
	}

}
