package vtlab.agent;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The agent's messages on stderr, each of them once.
 */
final class Console {

	private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

	private Console() {
	}

	static void say(String words) {
		if (TOLD.add(words)) {
			System.err.println("vtlab-agent: " + words);
		}
	}

}
