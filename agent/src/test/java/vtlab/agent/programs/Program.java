package vtlab.agent.programs;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * What every program in a JVM with the agent does: says that it is ready, and works off lines of its input until that is
 * closed.
 */
final class Program {

	private Program() {
	}

	/**
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

	/** What a line of the input has it do. */
	@FunctionalInterface
	interface Action {

		void run(String line) throws Exception;

	}


}
