package lab.virtualthreads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The names under which vtlab reads the application's metrics.
 */
public final class MetricNames {

	private MetricNames() {
	}

	/**
	 * From the rules, which hold every expression: each name before the label of the variant. Pools of connections
	 * have meters only where there is something to connect to, and k6 writes its own.
	 */
	public static List<String> ofExpressions() {
		try {
			String rules = Files.readString(Path.of("../helm/files/rules.json"));
			return Pattern.compile("(\\w+)\\{variant!=")
				.matcher(rules)
				.results()
				.map((match) -> match.group(1))
				.filter((name) -> !name.matches("(k6|hikaricp|httpcomponents)_.*|up"))
				.distinct()
				.toList();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

}
