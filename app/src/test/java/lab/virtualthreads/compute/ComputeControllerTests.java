package lab.virtualthreads.compute;

import java.time.Duration;

import lab.virtualthreads.ServletSlice;
import lab.virtualthreads.cpu.HashChain;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class ComputeControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@CsvSource({ "120ms, 120", "PT0.1S, 100", "1, 1" })
	void computesForTheDuration(String duration, long milliseconds) throws Exception {
		long start = System.nanoTime();
		MvcTestResult answer = this.mvc.get().uri("/compute?duration=" + duration).exchange();
		assertThat(answer).hasStatusOk().hasContentType(MediaType.APPLICATION_JSON);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(milliseconds));
		JsonNode chain = JsonMapper.shared().readTree(answer.getResponse().getContentAsString());
		assertThat(chain.path("digest").stringValue()).isEqualTo(HashChain.compute(1000).digest());
		assertThat(chain.path("iterations").longValue() % 1000).isZero();
	}

	@Test
	void computesOnceWithoutADuration() {
		assertThat(this.mvc.get().uri("/compute?duration=0s")).bodyJson()
			.isStrictlyEqualTo(
					"{\"iterations\": 1000, \"digest\": \"%s\"}".formatted(HashChain.compute(1000).digest()));
	}

}
