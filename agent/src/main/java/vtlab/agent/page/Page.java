package vtlab.agent.page;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * One answer to a scrape: metrics in the text format of Prometheus, version 0.0.4. A value that is NaN is unknown, and
 * is left out.
 */
public final class Page {

	private final Map<String, Family> families = new LinkedHashMap<>();

	/**
	 * Adds a gauge.
	 * @param labels names and values in turn
	 */
	public void gauge(String name, String help, double value, String... labels) {
		add(new Family(name, Type.GAUGE, help), "", value, labels);
	}

	public void gauge(String name, String help, OptionalDouble value, String... labels) {
		gauge(name, help, value.orElse(Double.NaN), labels);
	}

	/**
	 * Adds a counter.
	 * @param name a name that ends in {@code _total}
	 */
	public void counter(String name, String help, double value, String... labels) {
		add(new Family(name, Type.COUNTER, help), "", value, labels);
	}

	public void counter(String name, String help, OptionalDouble value, String... labels) {
		counter(name, help, value.orElse(Double.NaN), labels);
	}

	/** Adds a timer: how often something was, and how long in all. */
	public void timer(String name, String help, double count, double seconds, String... labels) {
		Family family = new Family(name, Type.SUMMARY, help);
		add(family, "_count", count, labels);
		add(family, "_sum", seconds, labels);
	}

	public Collection<Family> families() {
		return List.copyOf(this.families.values());
	}

	public String text() {
		StringBuilder text = new StringBuilder();
		for (Family family : this.families.values()) {
			text.append("# HELP ").append(family.name()).append(' ').append(family.help()).append('\n');
			text.append("# TYPE ").append(family.name()).append(' ');
			text.append(family.type().name().toLowerCase(Locale.ROOT)).append('\n');
			for (Sample sample : family.samples()) {
				text.append(family.name()).append(sample.suffix());
				appendLabels(text, sample.labels());
				text.append(' ').append(sample.value()).append('\n');
			}
		}
		return text.toString();
	}

	private void add(Family family, String suffix, double value, String... labels) {
		if (!Double.isNaN(value)) {
			Map<String, String> byName = new LinkedHashMap<>();
			for (int i = 0; i < labels.length; i += 2) {
				byName.put(labels[i], labels[i + 1]);
			}
			this.families.computeIfAbsent(family.name(), (name) -> family)
				.samples()
				.add(new Sample(suffix, byName, value));
		}
	}

	private static void appendLabels(StringBuilder text, Map<String, String> labels) {
		String separator = "{";
		for (Map.Entry<String, String> label : labels.entrySet()) {
			text.append(separator).append(label.getKey()).append("=\"").append(escape(label.getValue())).append('"');
			separator = ",";
		}
		text.append(labels.isEmpty() ? "" : "}");
	}

	private static String escape(String value) {
		return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
	}

	/** The types of metrics. */
	public enum Type {

		GAUGE, COUNTER, SUMMARY

	}

	/** All samples of a name. */
	public record Family(String name, Type type, String help, List<Sample> samples) {

		Family(String name, Type type, String help) {
			this(name, type, help, new ArrayList<>());
		}

	}

	/** A value; {@code suffix} is what follows the family's name. */
	public record Sample(String suffix, Map<String, String> labels, double value) {
	}

}
