package lab.virtualthreads.runtime;

import java.util.List;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;
import vtlab.agent.page.Page.Family;
import vtlab.agent.page.Page.Sample;

/**
 * The agent's metrics on the application's own page, under the same names.
 */
class AgentMetrics implements MultiCollector {

	private final List<Meters> meters;

	AgentMetrics(List<Meters> meters) {
		this.meters = meters;
	}

	@Override
	public MetricSnapshots collect() {
		Page page = new Page();
		this.meters.forEach((group) -> group.write(page));
		return new MetricSnapshots(page.families().stream().map(AgentMetrics::snapshot).toList());
	}

	private static MetricSnapshot snapshot(Family family) {
		return switch (family.type()) {
			case GAUGE -> gauge(family);
			case COUNTER -> counter(family);
			case SUMMARY -> throw new IllegalArgumentException(family.name() + " is Micrometer's");
		};
	}

	private static MetricSnapshot gauge(Family family) {
		GaugeSnapshot.Builder builder = GaugeSnapshot.builder().name(family.name()).help(family.help());
		family.samples()
			.forEach((sample) -> builder.dataPoint(new GaugeDataPointSnapshot(sample.value(), labels(sample), null)));
		return builder.build();
	}

	private static MetricSnapshot counter(Family family) {
		CounterSnapshot.Builder builder = CounterSnapshot.builder()
			.name(family.name().replaceFirst("_total$", ""))
			.help(family.help());
		for (Sample sample : family.samples()) {
			builder.dataPoint(new CounterDataPointSnapshot(sample.value(), labels(sample), null, 0L));
		}
		return builder.build();
	}

	private static Labels labels(Sample sample) {
		return Labels.of(List.copyOf(sample.labels().keySet()), List.copyOf(sample.labels().values()));
	}

}
