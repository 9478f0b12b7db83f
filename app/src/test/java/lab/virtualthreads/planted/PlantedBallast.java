package lab.virtualthreads.planted;

import java.nio.ByteBuffer;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * Memory outside of the heap that is resident from the start on, for the tests of vtlab, where
 * {@code lab.planted.ballast} says how many MiB.
 */
@Component
@ConditionalOnProperty("lab.planted.ballast")
class PlantedBallast {

	private static final int MIB = 1024 * 1024;

	/** The buffer is zeroed, and so each of its pages is resident. */
	private final ByteBuffer buffer;

	PlantedBallast(@Value("${lab.planted.ballast}") int mebibytes) {
		this.buffer = ByteBuffer.allocateDirect(mebibytes * MIB);
	}

	int size() {
		return this.buffer.capacity();
	}

}
