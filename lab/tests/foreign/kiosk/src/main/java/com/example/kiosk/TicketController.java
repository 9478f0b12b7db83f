package com.example.kiosk;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class TicketController {

	private final Object[] printers = { new Object(), new Object(), new Object(), new Object(), new Object() };

	private final AtomicInteger tickets = new AtomicInteger();

	/** Waits for nothing that is scarce. */
	@GetMapping("/wait")
	Ticket waiting(@RequestParam Duration duration) throws InterruptedException {
		Thread.sleep(duration);
		return next();
	}

	/** A lock around a wait: five tickets are printed at a time. */
	@GetMapping("/print")
	Ticket print(@RequestParam Duration duration) throws InterruptedException {
		Ticket ticket = next();
		synchronized (this.printers[ticket.number() % this.printers.length]) {
			Thread.sleep(duration);
		}
		return ticket;
	}

	private Ticket next() {
		return new Ticket(this.tickets.incrementAndGet());
	}

	record Ticket(int number) {
	}

}
