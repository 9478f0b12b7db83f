package lab.virtualthreads.fanout;

import lab.virtualthreads.ServletSlice;
import lab.virtualthreads.cpu.HashChain;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class FanOutControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@EnumSource
	void runsOnTheExecutorThatIsAskedFor(FanOutExecutor executor) throws Exception {
		JsonNode answer = get("/fan-out?tasks=4&duration=20ms&executor=" + executor);
		assertThat(answer.propertyNames()).containsExactly("tasks", "executor", "isVirtual", "threads", "seconds",
				"digest");
		assertThat(answer.get("tasks").intValue()).isEqualTo(4);
		assertThat(answer.get("executor").stringValue()).isEqualTo(executor.toString());
		assertThat(answer.get("isVirtual").booleanValue()).isEqualTo(executor == FanOutExecutor.VIRTUAL);
		assertThat(answer.get("threads").intValue()).isBetween(1, 4);
		assertThat(answer.get("seconds").doubleValue()).isGreaterThanOrEqualTo(0.02);
		assertThat(answer.get("digest").stringValue()).isEmpty();
	}

	@Test
	void computesWithoutAWaitUnlessToldTo() throws Exception {
		assertThat(get("/fan-out?tasks=3&iterations=500&executor=processors").get("digest").stringValue())
			.isEqualTo(HashChain.compute(500).digest());
	}

	private JsonNode get(String path) throws Exception {
		MvcTestResult result = this.mvc.get().uri(path).exchange();
		assertThat(result).hasStatusOk();
		return JsonMapper.shared().readTree(result.getResponse().getContentAsByteArray());
	}

}
