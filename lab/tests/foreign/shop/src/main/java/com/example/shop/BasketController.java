package com.example.shop;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Memory that is alive: baskets that are kept, as many megabytes as {@code shop.baskets} says, and those of requests.
 */
@RestController
class BasketController {

	private static final int BASKET = 64 * 1024;

	private final AtomicReferenceArray<byte[]> kept;

	BasketController(@Value("${shop.baskets:1}") int megabytes) {
		this.kept = new AtomicReferenceArray<>(megabytes * 1024 * 1024 / BASKET);
		for (int i = 0; i < this.kept.length(); i++) {
			this.kept.set(i, new byte[BASKET]);
		}
	}

	/** New baskets in place of old ones: only a full collection gets the room of these back. */
	@GetMapping("/baskets")
	int replace(@RequestParam int count) {
		for (int i = 0; i < count; i++) {
			this.kept.set(ThreadLocalRandom.current().nextInt(this.kept.length()), new byte[BASKET]);
		}
		return this.kept.length();
	}

	/** Holds memory for as long as the request takes. */
	@GetMapping("/basket")
	int hold(@RequestParam int kilobytes, @RequestParam Duration duration) {
		byte[] basket = new byte[kilobytes * 1024];
		OrderController.pause(duration);
		Reference.reachabilityFence(basket);
		return basket.length;
	}

}
