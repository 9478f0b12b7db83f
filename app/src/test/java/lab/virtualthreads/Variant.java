package lab.virtualthreads;

/** The two thread modes that every test of the application runs in. */
enum Variant {

	PLATFORM, VIRTUAL;

	boolean isVirtual() {
		return this == VIRTUAL;
	}

	@Override
	public String toString() {
		return name().toLowerCase();
	}

}
