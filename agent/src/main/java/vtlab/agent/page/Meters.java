package vtlab.agent.page;

/**
 * A group of metrics. Its first page can be what makes it look for its sources: it touches nothing of the service
 * before.
 */
@FunctionalInterface
public interface Meters {

	/**
	 * Writes what is known now.
	 */
	void write(Page page);

	/**
	 * Adds to integrals over time; called up to 100 times a second, always by the same thread, once there was a page.
	 * @param seconds the time since the last call
	 */
	default void sample(double seconds) {
	}

}
