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

	/**
	 * Pools of connections have meters only where there is something to connect to, k6 writes its own, and the time
	 * that threads of Tomcat are busy is the agent's: the expressions read Micrometer's meters where there is none.
	 */
	private static final Pattern ABSENT = Pattern
		.compile("(k6|hikaricp|httpcomponents|jetty)_.*|.*_threads_busy_seconds_total|up");

	private MetricNames() {
	}

	/**
	 * From the rules, which hold every expression: each name before the label of the variant.
	 */
	public static List<String> ofExpressions() {
		try {
			String rules = Files.readString(Path.of("../helm/files/rules.json"));
			return Pattern.compile("(\\w+)\\{variant!=")
				.matcher(rules)
				.results()
				.map((match) -> match.group(1))
				.filter((name) -> !ABSENT.matcher(name).matches())
				.distinct()
				.toList();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

}
