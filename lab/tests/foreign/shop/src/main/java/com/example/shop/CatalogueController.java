package com.example.shop;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A cache whose loader waits, and which does not remember that there is nothing: three shelves are looked for again and
 * again, one request at a time for each.
 */
@RestController
class CatalogueController {

	private static final int SHELVES = 3;

	private final ConcurrentMap<Integer, String> cache = new ConcurrentHashMap<>();

	private final AtomicInteger asked = new AtomicInteger();

	@GetMapping("/catalogue")
	String find(@RequestParam Duration duration) {
		int shelf = this.asked.incrementAndGet() % SHELVES;
		String article = this.cache.computeIfAbsent(shelf, (key) -> load(duration));
		return (article != null) ? article : "none";
	}

	private static String load(Duration duration) {
		OrderController.pause(duration);
		return null;
	}

}
