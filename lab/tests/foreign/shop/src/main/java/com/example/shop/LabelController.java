package com.example.shop;

import java.time.Duration;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Code that knows its thread: it keeps a buffer for each, and reads its name.
 */
@RestController
class LabelController {

	private static final ThreadLocal<byte[]> BUFFER = ThreadLocal.withInitial(() -> new byte[256 * 1024]);

	/** Prints into the buffer of its thread. */
	@GetMapping("/label")
	int print(@RequestParam Duration duration) {
		byte[] buffer = BUFFER.get();
		OrderController.pause(duration);
		return ++buffer[0];
	}

	/** Who serves: the number of the thread in Tomcat's pool. */
	@GetMapping("/cashier")
	Cashier serve(@RequestParam Duration duration) {
		OrderController.pause(duration);
		String thread = Thread.currentThread().getName();
		boolean isOfPool = thread.contains("-exec-");
		return new Cashier(isOfPool ? Integer.valueOf(thread.substring(thread.lastIndexOf('-') + 1)) : null);
	}

	record Cashier(Integer number) {
	}

}
