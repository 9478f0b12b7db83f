package vtlab.agent.page;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class PageTests {

	private final Page page = new Page();

	@Test
	void groupsSamplesByNameInTheTextFormat() {
		this.page.gauge("queue_tasks", "Tasks", 1, "name", "a");
		this.page.counter("done_total", "Done", 2.5);
		this.page.gauge("queue_tasks", "Tasks", -1, "name", "b", "kind", "c");
		this.page.timer("pause_seconds", "Pauses", 3, 0.75);
		assertThat(this.page.text()).isEqualTo("""
				# HELP queue_tasks Tasks
				# TYPE queue_tasks gauge
				queue_tasks{name="a"} 1.0
				queue_tasks{name="b",kind="c"} -1.0
				# HELP done_total Done
				# TYPE done_total counter
				done_total 2.5
				# HELP pause_seconds Pauses
				# TYPE pause_seconds summary
				pause_seconds_count 3.0
				pause_seconds_sum 0.75
				""");
	}

	@Test
	void escapesLabels() {
		this.page.gauge("x", "X", 1, "name", "a\"b\\c\nd");
		assertThat(this.page.text()).contains("x{name=\"a\\\"b\\\\c\\nd\"} 1.0");
	}

	@Test
	void leavesOutWhatIsUnknown() {
		this.page.gauge("x", "X", Double.NaN);
		assertThat(this.page.text()).isEmpty();
	}

}
