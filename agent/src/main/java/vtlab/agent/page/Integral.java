package vtlab.agent.page;

/**
 * A gauge integrated over time, such as seconds that threads were busy. One thread adds, any may read.
 */
public final class Integral {

	private volatile double value;

	/**
	 * Adds the gauge's value over the time since the last call.
	 * @param gauge the value now, taken to have been so since the last call; below zero or NaN it is unknown
	 * @param seconds the time since the last call
	 */
	public void add(double gauge, double seconds) {
		if (gauge > 0) {
			// One thread only writes.
			this.value = this.value + gauge * seconds;
		}
	}

	public double value() {
		return this.value;
	}

}
