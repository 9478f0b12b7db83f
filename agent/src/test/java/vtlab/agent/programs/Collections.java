package vtlab.agent.programs;

/** Collects garbage at each line of its input. */
final class Collections {

	private Collections() {
	}

	public static void main(String[] arguments) throws Exception {
		Program.serve("", (line) -> System.gc());
	}

}
