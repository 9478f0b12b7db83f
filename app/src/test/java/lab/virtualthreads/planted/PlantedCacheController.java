package lab.virtualthreads.planted;

import java.util.LinkedHashMap;
import java.util.Map;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A cache of so many entries, the least recently used one of which goes first, for the tests of vtlab, where
 * {@code lab.planted.cache} is set: what is not in it takes a wait.
 */
@RestController
@ConditionalOnProperty("lab.planted.cache")
class PlantedCacheController {

	private static final float LOAD_FACTOR = 0.75f;

	private final Map<Long, Boolean> cached;

	PlantedCacheController(@Value("${lab.planted.cache}") int entries) {
		this.cached = new LinkedHashMap<>(entries, LOAD_FACTOR, true) {
			@Override
			protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
				return size() > entries;
			}
		};
	}

	@GetMapping("/planted/cache")
	boolean find(@RequestParam long id, @RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration)
			throws InterruptedException {
		if (isCached(id)) {
			return true;
		}
		Thread.sleep(duration.next(Wait.MOST_SECONDS));
		return false;
	}

	/** Looks an entry up, and keeps it from now on; shortly: no virtual thread waits while it holds the lock. */
	private synchronized boolean isCached(long id) {
		return this.cached.put(id, true) != null;
	}

}
