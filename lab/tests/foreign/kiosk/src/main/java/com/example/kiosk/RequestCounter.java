package com.example.kiosk;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;

import org.springframework.stereotype.Component;

/**
 * How many requests came.
 */
@Component
class RequestCounter implements Filter {

	private final AtomicInteger requests = new AtomicInteger();

	@Override
	public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
			throws IOException, ServletException {
		this.requests.incrementAndGet();
		chain.doFilter(request, response);
	}

	int requests() {
		return this.requests.get();
	}

}
