package vtlab.agent.page;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class IntegralTests {

	@Test
	void addsUpWhatIsKnown() {
		Integral integral = new Integral();
		integral.add(3, 0.5);
		integral.add(-1, 100);
		integral.add(Double.NaN, 100);
		integral.add(2, 0.25);
		assertThat(integral.value()).isEqualTo(2.0);
	}

}
