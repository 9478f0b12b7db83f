package vtlab.agent.programs;

/** Needs no other class, says a word and ends. */
final class Plain {

	private Plain() {
	}

	public static void main(String[] arguments) {
		System.out.println("hello");
	}

}
