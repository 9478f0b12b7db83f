package vtlab.testing;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The waits of all tests: nothing takes nearly as long, but a slow machine stalls for seconds.
 */
public final class Patience implements BeforeAllCallback {

	@Override
	public void beforeAll(ExtensionContext context) {
		Awaitility.setDefaultTimeout(Duration.ofMinutes(2));
		Awaitility.setDefaultPollInterval(Duration.ofMillis(20));
		Awaitility.setDefaultPollDelay(Duration.ZERO);
	}

}
