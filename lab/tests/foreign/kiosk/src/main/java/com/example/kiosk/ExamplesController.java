package com.example.kiosk;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * What the scripts ask for that k6 ships, and the tests' own script.
 */
@RestController
class ExamplesController {

	private final RequestCounter counter;

	ExamplesController(RequestCounter counter) {
		this.counter = counter;
	}

	@GetMapping("/requests")
	int requests() {
		return this.counter.requests();
	}

	/** Tells which variant answers: by the thread that does. */
	@RequestMapping({ "/", "/test.k6.io", "/post", "/landed", "/setup", "/buy/*", "/paid/*", "/teardown/*" })
	Map<String, String> variant() {
		return Map.of("variant", Thread.currentThread().isVirtual() ? "virtual" : "platform");
	}

	@GetMapping("/pi.php")
	String pi() {
		return "3.14";
	}

	@PostMapping("/api/pizza")
	Map<String, Object> pizza(@RequestBody Map<String, Object> restrictions) {
		return Map.of("pizza", Map.of("name", "Quattro", "ingredients", List.of("tomato", "cheese")));
	}

	@GetMapping("/cookies")
	Map<String, Object> cookies(HttpServletRequest request) {
		Map<String, String> sent = new LinkedHashMap<>();
		for (Cookie cookie : (request.getCookies() != null) ? request.getCookies() : new Cookie[0]) {
			sent.put(cookie.getName(), cookie.getValue());
		}
		return Map.of("cookies", sent);
	}

	@GetMapping("/cookies/set")
	ResponseEntity<Void> setCookies(@RequestParam Map<String, String> cookies) {
		HttpHeaders headers = new HttpHeaders();
		List<String> set = new ArrayList<>();
		cookies.forEach((name, value) -> set.add(name + "=" + value + "; Path=/"));
		headers.addAll(HttpHeaders.SET_COOKIE, set);
		headers.set(HttpHeaders.LOCATION, "/cookies");
		return new ResponseEntity<>(headers, HttpStatus.FOUND);
	}

	@GetMapping("/redirect")
	ResponseEntity<Void> redirect() {
		return ResponseEntity.status(HttpStatus.FOUND).header(HttpHeaders.LOCATION, "/landed").build();
	}

}
