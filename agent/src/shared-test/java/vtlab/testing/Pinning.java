package vtlab.testing;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/**
 * Pins a virtual thread on every JDK: a class initializer has a native frame below it.
 */
public final class Pinning {

	private static final String SLEEPER = Sleeper.class.getSimpleName();

	private Pinning() {
	}

	/** Pins for five milliseconds. */
	public static void fiveMilliseconds() {
		fiveMilliseconds(SLEEPER);
	}

	/** Pins by a nested class of that name, which must be as long as the real one. */
	public static void fiveMilliseconds(String sleeper) {
		initialize(Sleeper.class, sleeper);
	}

	/** Pins until the second latch is open; counts the first one down before it waits. */
	public static void until(CountDownLatch pinned, CountDownLatch released) {
		System.getProperties().put(Pinning.class.getName(), new CountDownLatch[] { pinned, released });
		initialize(Waiter.class, Waiter.class.getSimpleName());
	}

	private static void initialize(Class<?> type, String simpleName) {
		try {
			Class.forName(type.getName().replace(type.getSimpleName(), simpleName), true,
					new FreshLoader(type, simpleName));
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

	static class Waiter {

		static {
			// Defined anew, it sees the JDK's classes only.
			CountDownLatch[] latches = (CountDownLatch[]) System.getProperties().get("vtlab.testing.Pinning");
			latches[0].countDown();
			try {
				latches[1].await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	/** Defines the class anew, because a class is initialized only once. */
	private static final class FreshLoader extends ClassLoader {

		private final Class<?> type;

		private final String simpleName;

		private FreshLoader(Class<?> type, String simpleName) {
			super(null);
			this.type = type;
			this.simpleName = simpleName;
		}

		@Override
		protected Class<?> findClass(String name) throws ClassNotFoundException {
			try (InputStream in = Pinning.class
				.getResourceAsStream("/" + this.type.getName().replace('.', '/') + ".class")) {
				// A class file has its names as text, each behind its length.
				byte[] bytes = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1)
					.replace("$" + this.type.getSimpleName(), "$" + this.simpleName)
					.getBytes(StandardCharsets.ISO_8859_1);
				return defineClass(name, bytes, 0, bytes.length);
			}
			catch (IOException ex) {
				throw new ClassNotFoundException(name, ex);
			}
		}

	}

}
