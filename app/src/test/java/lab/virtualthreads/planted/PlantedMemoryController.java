package lab.virtualthreads.planted;

import java.lang.ref.Reference;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A share of the largest heap (0.7) that is alive from the start on, 0 for none, for the tests of vtlab, where
 * {@code lab.planted.live-share} is set.
 */
@RestController
@RequestMapping("/planted/memory")
@ConditionalOnProperty("lab.planted.live-share")
class PlantedMemoryController {

	private static final int KILOBYTE = 1024;

	/** The size of each piece of what is alive. */
	private static final int PIECE = 64 * KILOBYTE;

	private final AtomicReferenceArray<byte[]> alive;

	PlantedMemoryController(@Value("${lab.planted.live-share}") double share) {
		this.alive = new AtomicReferenceArray<>((int) (share * Runtime.getRuntime().maxMemory() / PIECE));
		for (int i = 0; i < this.alive.length(); i++) {
			this.alive.set(i, new byte[PIECE]);
		}
	}

	/**
	 * Puts new pieces in place of some that are alive: these were old, so that only a full collection gets their room
	 * back.
	 */
	@GetMapping("/replace")
	void replace(@RequestParam @Range(min = 64, max = 1_048_576) long kilobytes) {
		for (long i = 0; i < kilobytes * KILOBYTE / PIECE; i++) {
			this.alive.set(ThreadLocalRandom.current().nextInt(this.alive.length()), new byte[PIECE]);
		}
	}

	/** Waits, and needs so much memory meanwhile: the more requests are in flight, the more. */
	@GetMapping("/hold")
	void hold(@RequestParam @Range(min = 1, max = 1_048_576) long kilobytes,
			@RequestParam @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) throws InterruptedException {
		byte[] buffer = new byte[(int) (kilobytes * KILOBYTE)];
		Thread.sleep(duration.next(Wait.MOST_SECONDS));
		Reference.reachabilityFence(buffer);
	}

}
