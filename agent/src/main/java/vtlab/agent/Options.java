package vtlab.agent;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import vtlab.agent.virtualthreads.PinnedThreads;

/**
 * The agent's options: {@code port=9404,host=0.0.0.0,pinned=0}.
 *
 * @param port the port of its page; 0 for any free one
 * @param host the address that it listens on, the loopback interface by default
 * @param pinned the threshold in milliseconds, below which pinnings are not counted; {@link PinnedThreads#THRESHOLD} by
 * default
 * @param rest whether nothing is measured until the next page; before the first one nothing is in any case
 */
record Options(int port, String host, Optional<Duration> pinned, boolean rest) {

	static final String PORT_VARIABLE = "VTLAB_AGENT_PORT";

	private static final Set<String> NAMES = Set.of("port", "host", "pinned", "rest");

	/**
	 * Parses the agent's argument.
	 * @param text the argument; null for none
	 * @throws IllegalArgumentException says what is wrong and what to write
	 */
	static Options parse(String text, Map<String, String> environment) {
		Map<String, String> values = new HashMap<>();
		if (environment.containsKey(PORT_VARIABLE)) {
			values.put("port", environment.get(PORT_VARIABLE));
		}
		for (String pair : (text == null || text.isBlank()) ? new String[0] : text.split(",")) {
			String[] nameAndValue = pair.split("=", 2);
			if (nameAndValue.length < 2 || !NAMES.contains(nameAndValue[0].strip())) {
				throw new IllegalArgumentException("'" + pair + "' is no option: write port=9404, host=0.0.0.0, "
						+ "pinned=0 (ms) or rest=1, with commas between");
			}
			values.put(nameAndValue[0].strip(), nameAndValue[1].strip());
		}
		if (!values.containsKey("port")) {
			throw new IllegalArgumentException(
					"it was told no port: write -javaagent:vtlab-agent.jar=port=9404, or set " + PORT_VARIABLE);
		}
		return new Options(number("port", values.get("port"), 65535),
				values.getOrDefault("host", InetAddress.getLoopbackAddress().getHostAddress()),
				Optional.ofNullable(values.get("pinned"))
					.map((milliseconds) -> Duration.ofMillis(number("pinned", milliseconds, 60_000))),
				number("rest", values.getOrDefault("rest", "0"), 1) == 1);
	}

	InetSocketAddress address() {
		return new InetSocketAddress(this.host, this.port);
	}

	private static int number(String name, String value, int most) {
		try {
			int number = Integer.parseInt(value);
			if (0 <= number && number <= most) {
				return number;
			}
		}
		catch (NumberFormatException ex) {
			// As for a number that is too large.
		}
		throw new IllegalArgumentException(name + "=" + value + " is no whole number from 0 to " + most);
	}

}
