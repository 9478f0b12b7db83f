package vtlab.agent;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the agent says, on stderr: each thing once.
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
