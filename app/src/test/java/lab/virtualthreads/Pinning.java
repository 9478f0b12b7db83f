package lab.virtualthreads;

import java.io.IOException;
import java.io.InputStream;

/**
 * Pins a virtual thread on every JDK: a class initializer has a native frame below it.
 */
final class Pinning {

	private Pinning() {
	}

	static void fiveMilliseconds() {
		try {
			Class.forName(Sleeper.class.getName(), true, new FreshLoader());
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

		private FreshLoader() {
			super(null);
		}

		@Override
		protected Class<?> findClass(String name) throws ClassNotFoundException {
			try (InputStream in = Pinning.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
				byte[] bytes = in.readAllBytes();
				return defineClass(name, bytes, 0, bytes.length);
			}
			catch (IOException ex) {
				throw new ClassNotFoundException(name, ex);
			}
		}

	}

}
