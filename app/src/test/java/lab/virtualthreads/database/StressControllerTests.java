package lab.virtualthreads.database;

import lab.virtualthreads.ServletSlice;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;

@ServletSlice
class StressControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@ParameterizedTest
	@ValueSource(strings = { "/stress/nosleep", "/stress/sleep?id=5" })
	void saysWhatToSetWhereThereIsNoDatabase(String path) {
		assertThat(this.mvc.get().uri(path)).hasStatus(503)
			.hasContentType(MediaType.APPLICATION_PROBLEM_JSON)
			.bodyText()
			.contains("SPRING_DATASOURCE_URL");
	}

}
