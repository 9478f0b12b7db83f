package lab.virtualthreads.planted;

import java.util.concurrent.ThreadLocalRandom;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Answers of which a share has another shape, as of a service that says 200 and has no result, for the tests of vtlab,
 * where {@code lab.planted.shape} is set to that share: {@code GET /planted/shape?duration=20ms}.
 */
@RestController
@ConditionalOnProperty("lab.planted.shape")
class PlantedShapeController {

	private final double share;

	PlantedShapeController(@Value("${lab.planted.shape}") double share) {
		this.share = share;
	}

	@GetMapping(path = "/planted/shape", produces = MediaType.APPLICATION_JSON_VALUE)
	Object answer(@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) throws InterruptedException {
		Thread.sleep(duration.next(Wait.MOST_SECONDS));
		boolean isOther = ThreadLocalRandom.current().nextDouble() < this.share;
		return isOther ? new Other("try again later") : new Usual(17, "Ada");
	}

	record Usual(long id, String name) {

	}

	record Other(String problem) {

	}

}
