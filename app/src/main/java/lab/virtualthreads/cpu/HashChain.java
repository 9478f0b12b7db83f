package lab.virtualthreads.cpu;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;

/**
 * CPU work that neither blocks nor allocates, and that no compiler can leave out: every hash is of the one before.
 *
 * @param iterations how many hashes were computed
 * @param digest the last of them, in hexadecimal
 */
public record HashChain(long iterations, String digest) {

	/**
	 * Computes a chain of SHA-256 hashes that starts from 32 zero bytes.
	 * @param iterations how many hashes; none leaves the zeros
	 * @return the end of the chain
	 */
	public static HashChain compute(long iterations) {
		try {
			MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
			byte[] hash = new byte[sha256.getDigestLength()];
			for (long i = 0; i < iterations; i++) {
				sha256.update(hash);
				sha256.digest(hash, 0, hash.length);
			}
			return new HashChain(iterations, HexFormat.of().formatHex(hash));
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException("Every Java platform has SHA-256", ex);
		}
	}

}
