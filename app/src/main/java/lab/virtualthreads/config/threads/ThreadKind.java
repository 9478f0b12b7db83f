package lab.virtualthreads.config.threads;

import org.springframework.boot.thread.Threading;
import org.springframework.core.env.Environment;

/**
 * The kind of thread that serves requests and {@code @Async} methods: {@code spring.threads.virtual.enabled} decides,
 * or {@code application.use-virtual} in its place.
 */
public enum ThreadKind {

	PLATFORM, VIRTUAL;

	static final String EXPLICIT = "application.use-virtual";

	private static final String PROPERTY = "spring.threads.virtual.enabled";

	/**
	 * Returns the kind that an environment asks for.
	 * @throws IllegalStateException when its two properties contradict each other
	 */
	public static ThreadKind of(Environment environment) {
		Boolean explicit = environment.getProperty(EXPLICIT, Boolean.class);
		Boolean property = environment.getProperty(PROPERTY, Boolean.class);
		if (explicit != null && property != null && !explicit.equals(property)) {
			throw new IllegalStateException("%s=%s contradicts %s=%s: set only one of them, or both alike"
				.formatted(EXPLICIT, explicit, PROPERTY, property));
		}
		return (Boolean.TRUE.equals(explicit) || Threading.VIRTUAL.isActive(environment)) ? VIRTUAL : PLATFORM;
	}

}
