package vtlab.agent.programs;

import java.lang.instrument.Instrumentation;

/** Another agent beside the one under test. */
public final class OtherAgent {

	private OtherAgent() {
	}

	public static void premain(String arguments, Instrumentation instrumentation) {
		System.err.println("other agent " + instrumentation.isRedefineClassesSupported());
	}

}
