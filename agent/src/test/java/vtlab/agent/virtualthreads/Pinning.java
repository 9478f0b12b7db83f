package vtlab.agent.virtualthreads;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Pins a virtual thread on every JDK: a class initializer has a native frame below it.
 */
public final class Pinning {

	private static final String SLEEPER = Sleeper.class.getSimpleName();

	private Pinning() {
	}

	public static void fiveMilliseconds() {
		fiveMilliseconds(SLEEPER);
	}

	/** The same by a nested class of that name, which must be as long as the real one. */
	static void fiveMilliseconds(String sleeper) {
		try {
			Class.forName(Sleeper.class.getName().replace(SLEEPER, sleeper), true, new FreshLoader(sleeper));
		}
		catch (ClassNotFoundException ex) {
			throw new AssertionError(ex);
		}
	}

	static class Sleeper {

		static {
			try {
				Thread.sleep(5);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	/** Defines the class anew, because a class is initialized only once. */
	private static final class FreshLoader extends ClassLoader {

		private final String sleeper;

		private FreshLoader(String sleeper) {
			super(null);
			this.sleeper = sleeper;
		}

		@Override
		protected Class<?> findClass(String name) throws ClassNotFoundException {
			String file = "/" + Sleeper.class.getName().replace('.', '/') + ".class";
			try (InputStream in = Pinning.class.getResourceAsStream(file)) {
				// A class file has its names as text, each behind its length.
				byte[] bytes = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1)
					.replace("$" + SLEEPER, "$" + this.sleeper)
					.getBytes(StandardCharsets.ISO_8859_1);
				return defineClass(name, bytes, 0, bytes.length);
			}
			catch (IOException ex) {
				throw new ClassNotFoundException(name, ex);
			}
		}

	}

}
