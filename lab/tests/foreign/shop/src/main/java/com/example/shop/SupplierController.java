package com.example.shop;

import java.time.Duration;

import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/**
 * Asks another service, through a pool of seven connections.
 */
@RestController
class SupplierController {

	private static final int CONNECTIONS = 7;

	private final RestClient supplier;

	SupplierController(@Value("${shop.supplier:http://localhost:1}") String address) {
		var connections = PoolingHttpClientConnectionManagerBuilder.create()
			.setMaxConnTotal(CONNECTIONS)
			.setMaxConnPerRoute(CONNECTIONS)
			.build();
		var client = HttpClients.custom().setConnectionManager(connections).build();
		this.supplier = RestClient.builder()
			.baseUrl(address)
			.requestFactory(new HttpComponentsClientHttpRequestFactory(client))
			.build();
	}

	@GetMapping("/supplier")
	String ask(@RequestParam Duration duration) {
		return this.supplier.get().uri("/wait?duration={0}ms", duration.toMillis()).retrieve().body(String.class);
	}

}
