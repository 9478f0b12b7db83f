package vtlab.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.channels.UnresolvedAddressException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import vtlab.agent.virtualthreads.PinnedThreads;

/**
 * Where the JVM calls: before the service's {@code main}, or when it is attached. Whatever goes wrong is said once, on
 * stderr, and the service runs without the agent.
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
	 * Whoever attaches it has chosen the JVM. Attached once more it takes another threshold of pinnings, or rests.
	 */
	public static void agentmain(String arguments, Instrumentation instrumentation) {
		idleIfItFails(() -> start(arguments, instrumentation));
	}

	private static synchronized void start(String arguments, Instrumentation instrumentation) throws InterruptedException {
		if (instrument != null) {
			// Its port stays.
			Options again = Options.parse(arguments, Map.of(Options.PORT_VARIABLE, "0"));
			again.pinned().ifPresent(instrument::pinned);
			if (again.rest()) {
				instrument.rest();
			}
			return;
		}
		Options options = Options.parse(arguments, System.getenv());
		open(instrumentation);
		instrument = serve(options);
	}

	/** What is thrown out of here would end the JVM. */
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
			throw new IllegalArgumentException("it cannot listen on port " + options.port() + " of " + options.host() + " ("
					+ ex + "): choose others, with port=N, host=ADDRESS or " + Options.PORT_VARIABLE);
		}
		// The server's threads take after the one that starts it.
		Thread starter = OwnThreads.named("start", server::start);
		starter.start();
		starter.join();
		Console.say("metrics at http://" + options.host() + ":" + server.port() + "/metrics");
		return created;
	}

	/** What the JDK shows nobody: which task a thread has, the scheduler before JDK 24, all virtual threads. */
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
