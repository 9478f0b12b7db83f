package lab.virtualthreads.cpu;

import java.security.MessageDigest;
import java.util.HexFormat;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class HashChainTests {

	@Test
	void hashesTheHash() throws Exception {
		MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
		byte[] expected = sha256.digest(sha256.digest(sha256.digest(new byte[32])));
		assertThat(HashChain.compute(3)).isEqualTo(new HashChain(3, HexFormat.of().formatHex(expected)));
	}

}
