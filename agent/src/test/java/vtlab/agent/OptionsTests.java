package vtlab.agent;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class OptionsTests {

	@Test
	void listenOnTheLoopbackInterfaceByDefault() {
		assertThat(Options.parse("port=9404", Map.of()))
			.isEqualTo(new Options(9404, "127.0.0.1", Optional.empty(), false));
	}

	@Test
	void areReadInAnyOrder() {
		assertThat(Options.parse("rest=1,pinned=0, host=0.0.0.0,port=0", Map.of()))
			.isEqualTo(new Options(0, "0.0.0.0", Optional.of(Duration.ZERO), true));
	}

	@Test
	void preferTheArgumentToTheEnvironment() {
		Map<String, String> environment = Map.of("VTLAB_AGENT_PORT", "9405");
		assertThat(Options.parse(null, environment).port()).isEqualTo(9405);
		assertThat(Options.parse("", environment).port()).isEqualTo(9405);
		assertThat(Options.parse("port=9404", environment).port()).isEqualTo(9404);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
			port=x          | port=x is no whole number
			port=65536      | port=65536 is no whole number
			port=-1         | port=-1 is no whole number
			port            | 'port' is no option
			port=1,verbose  | 'verbose' is no option
			port=1,pinned=a | pinned=a is no whole number
			port=1,rest=2   | rest=2 is no whole number from 0 to 1
			host=0.0.0.0    | VTLAB_AGENT_PORT
			""")
	void sayWhatIsWrong(String text, String message) {
		assertThatIllegalArgumentException().isThrownBy(() -> Options.parse(text, Map.of()))
			.withMessageContaining(message);
	}

}
