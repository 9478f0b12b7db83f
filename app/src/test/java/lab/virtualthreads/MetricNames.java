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

	/** From the expressions themselves: every name before the label of the variant. */
	public static List<String> ofExpressions() {
		try {
			String expressions = Files.readString(Path.of("../lab/vtlab/expressions.py"));
			return Pattern.compile("(\\w+)\\{+variant=")
				.matcher(expressions)
				.results()
				.map((match) -> match.group(1))
				.distinct()
				.toList();
		}
		catch (IOException ex) {
			throw new AssertionError(ex);
		}
	}

}
