package com.example.kiosk;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class KioskApplication {

	public static void main(String[] args) {
		// What a service decides in its code no environment overrides.
		if (System.getenv("KIOSK_THREADS") != null) {
			System.setProperty("spring.threads.virtual.enabled", System.getenv("KIOSK_THREADS"));
		}
		SpringApplication.run(KioskApplication.class, args);
	}

}
