package vtlab.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.channels.UnresolvedAddressException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import vtlab.agent.virtualthreads.PinnedThreads;

/**
 * The entry point of the agent: the JVM calls it before the service's {@code main}, or when the agent is attached.
 * Whatever goes wrong is reported once, on stderr, and the service runs without the agent.
 */
public final class Agent {

	private static Instrument instrument;

	private Agent() {
	}

	public static void premain(String arguments, Instrumentation instrumentation) {
		idleIfItFails(() -> {
			Optional<String> other = ServiceJvm.otherThanTheService();
			if (other.isPresent()) {
				Console.say("idle in this JVM: " + other.get());
			}
			else {
				start(arguments, instrumentation);
			}
		});
	}

	/**
	 * Starts the agent in any JVM: whoever attaches it has chosen the JVM. Attached once more, it takes another
	 * threshold for pinnings, or rests.
	 */
	public static void agentmain(String arguments, Instrumentation instrumentation) {
		idleIfItFails(() -> start(arguments, instrumentation));
	}

	private static synchronized void start(String arguments, Instrumentation instrumentation)
			throws InterruptedException {
		if (instrument != null) {
			// Its port stays.
			Options again = Options.parse(arguments, Map.of(Options.PORT_VARIABLE, "0"));
			again.pinned().ifPresent(instrument::setPinningThreshold);
			if (again.rest()) {
				instrument.rest();
			}
			return;
		}
		Options options = Options.parse(arguments, System.getenv());
		open(instrumentation);
		instrument = serve(options);
	}

	/** Runs a task, and leaves the agent idle if it fails: an exception thrown from here would end the JVM. */
	private static void idleIfItFails(Task task) {
		try {
			task.run();
		}
		catch (IllegalArgumentException ex) {
			Console.say("idle: " + ex.getMessage());
		}
		catch (Exception | LinkageError ex) {
			Console.say("idle: " + ex);
		}
	}

	private static Instrument serve(Options options) throws InterruptedException {
		Instrument created = new Instrument(options.pinned().orElse(PinnedThreads.THRESHOLD));
		PageServer server;
		try {
			server = new PageServer(options, created::page);
		}
		catch (IOException | UnresolvedAddressException ex) {
			throw new IllegalArgumentException(
					"it cannot listen on port " + options.port() + " of " + options.host() + " (" + ex
							+ "): choose others, with port=N, host=ADDRESS or " + Options.PORT_VARIABLE);
		}
		// The server's threads take after the one that starts it.
		Thread starter = OwnThreads.named("start", server::start);
		starter.start();
		starter.join();
		Console.say("metrics at http://" + options.host() + ":" + server.port() + "/metrics");
		return created;
	}

	/**
	 * Opens to the agent what the JDK shows nobody: the task of a thread, the scheduler before JDK 24, all virtual
	 * threads.
	 */
	private static void open(Instrumentation instrumentation) {
		Set<Module> agent = Set.of(Agent.class.getModule());
		instrumentation.redefineModule(Object.class.getModule(), Set.of(), Map.of("jdk.internal.vm", agent),
				Map.of("java.lang", agent), Set.of(), Map.of());
	}

	/** A step that can fail. */
	@FunctionalInterface
	private interface Task {

		void run() throws InterruptedException;

	}

}
