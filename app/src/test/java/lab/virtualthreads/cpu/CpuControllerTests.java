package lab.virtualthreads.cpu;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class CpuControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@Test
	void hashes() {
		assertThat(this.mvc.get().uri("/cpu?iterations=2")).bodyJson()
			.isStrictlyEqualTo("{\"iterations\": 2, \"digest\": \"%s\"}".formatted(HashChain.compute(2).digest()));
	}

}
