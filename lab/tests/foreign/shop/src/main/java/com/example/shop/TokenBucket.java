package com.example.shop;

import java.time.Duration;

/**
 * So many tokens a second. Who finds none takes the next that will be there, and waits for it.
 */
class TokenBucket {

	private final long nanosecondsEach;

	private long next = System.nanoTime();

	TokenBucket(int tokensPerSecond) {
		this.nanosecondsEach = Duration.ofSeconds(1).dividedBy(tokensPerSecond).toNanos();
	}

	void take() throws InterruptedException {
		long wait = reserve();
		if (wait > 0) {
			Thread.sleep(Duration.ofNanos(wait));
		}
	}

	/** Takes a token; returns the nanoseconds until it is there. */
	private synchronized long reserve() {
		long now = System.nanoTime();
		long due = Math.max(now, this.next);
		this.next = due + this.nanosecondsEach;
		return due - now;
	}

}
