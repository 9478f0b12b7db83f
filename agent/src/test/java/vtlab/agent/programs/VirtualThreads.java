package vtlab.agent.programs;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import vtlab.testing.Pinning;

/** Seven virtual threads that wait for ever, three of them of an executor; pins another at each line of its input. */
final class VirtualThreads {

	private VirtualThreads() {
	}

	public static void main(String[] arguments) throws Exception {
		CountDownLatch never = new CountDownLatch(1);
		CountDownLatch waiting = new CountDownLatch(7);
		Runnable wait = () -> {
			waiting.countDown();
			try {
				never.await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		};
		ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
		for (int i = 0; i < 3; i++) {
			executor.submit(wait);
		}
		for (int i = 0; i < 4; i++) {
			Thread.startVirtualThread(wait);
		}
		waiting.await();
		Program.serve("", (line) -> Thread.ofVirtual().start(Pinning::fiveMilliseconds).join());
	}

}
