package lab.virtualthreads.planted;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/**
 * Answers that take one of several times, each with its share, for the tests of vtlab, where {@code lab.planted.modes}
 * is set: {@code 400ms:0.97,640ms:0.03}. {@code lab.planted.errors} is the share that is an error:
 * {@code GET /planted/modes}.
 */
@RestController
@ConditionalOnProperty("lab.planted.modes")
class PlantedModesController {

	private final List<Mode> modes = new ArrayList<>();

	private final double errors;

	PlantedModesController(@Value("${lab.planted.modes}") List<String> modes,
			@Value("${lab.planted.errors:0}") double errors) {
		double upTo = 0;
		for (String mode : modes) {
			String[] parts = mode.split(":");
			upTo += Double.parseDouble(parts[1]);
			this.modes.add(new Mode(DurationStyle.detectAndParse(parts[0]), upTo));
		}
		this.errors = errors;
	}

	@GetMapping("/planted/modes")
	void answer() throws InterruptedException {
		Thread.sleep(draw());
		if (ThreadLocalRandom.current().nextDouble() < this.errors) {
			throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE);
		}
	}

	private Duration draw() {
		double drawn = ThreadLocalRandom.current().nextDouble();
		for (Mode mode : this.modes) {
			if (drawn < mode.upTo()) {
				return mode.duration();
			}
		}
		return this.modes.getLast().duration();
	}

	/**
	 * One of the times.
	 *
	 * @param upTo the share of the answers that take this time or one before it in the list
	 */
	private record Mode(Duration duration, double upTo) {

	}

}
