package lab.virtualthreads;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Liveness by Spring Boot's additional paths is on the port of the requests, too, and on their kind of thread: as a
 * probe finds it in a service without a management port.
 */
@Tag("context")
class LivenessTests {

	@ParameterizedTest
	@EnumSource
	void answersOnTheThreadsOfTheRequests(Variant variant) {
		try (LabApp app = LabApp.start(variant, "--management.endpoint.health.probes.add-additional-paths=true");
				LabApp.Gate gate = app.shutGate()) {
			CompletableFuture<HttpResponse<String>> response = app.getAsync("/livez?probe");
			LabApp.RequestThreads threads = app.bean(LabApp.RequestThreads.class);
			await().until(() -> threads.byQuery.containsKey("probe"));
			assertThat(threads.byQuery.get("probe").isVirtual()).isEqualTo(variant.isVirtual());
			gate.open();
			assertThat(response.join().statusCode()).isEqualTo(200);
			assertThat(LabApp.json(response.join()).get("status").stringValue()).isEqualTo("UP");
			assertThat(app.management("/actuator/health/liveness").statusCode()).isEqualTo(200);
			await().untilAsserted(() -> assertThat(
					app.metric("http_server_requests_seconds_count", "uri=\"/livez\"", "status=\"200\""))
				.isEqualTo(1));
		}
	}

}
