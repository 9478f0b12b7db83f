package vtlab.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Metrics in the text format of Prometheus, and the names under which vtlab reads them.
 */
public final class ScrapedMetrics {

	private ScrapedMetrics() {
	}

	/**
	 * Returns the names in the rules, which hold every expression: each name before the label of the variant.
	 */
	public static List<String> namesThatVtlabReads() {
		try {
			return Pattern.compile("(\\w+)\\{variant!=")
				.matcher(Files.readString(Path.of("../helm/files/rules.json")))
				.results()
				.map((match) -> match.group(1))
				// k6 writes its own, and Prometheus this one.
				.filter((name) -> !name.matches("k6_.*|up"))
				.distinct()
				.toList();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

	/**
	 * Returns the sum over the samples of that name whose labels have all of these texts; NaN when there is none.
	 */
	public static double sum(Collection<String> samples, String name, String... labels) {
		double[] values = samples.stream()
			.filter((line) -> line.startsWith(name + " ") || line.startsWith(name + "{"))
			.filter((line) -> Stream.of(labels).allMatch(line::contains))
			.mapToDouble((line) -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
			.toArray();
		return (values.length == 0) ? Double.NaN : DoubleStream.of(values).sum();
	}

}
