package vtlab.agent.programs;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * The frame of every program in a JVM with the agent: it says that it is ready, and works off lines of its input until
 * that is closed.
 */
final class Program {

	private Program() {
	}

	/**
	 * Serves the lines of the input.
	 * @param about what the test is to know, such as a port
	 */
	static void serve(Object about, Action action) throws Exception {
		System.out.println("ready " + about);
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		for (String line = input.readLine(); line != null; line = input.readLine()) {
			action.run(line);
			System.out.println("done " + line);
		}
		Runtime.getRuntime().halt(0);
	}

	/** The action that a line of the input asks for. */
	@FunctionalInterface
	interface Action {

		void run(String line) throws Exception;

	}


}
