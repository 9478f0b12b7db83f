package vtlab.agent.virtualthreads;

import vtlab.agent.jvm.PlatformThreads;
import vtlab.agent.page.Meters;
import vtlab.agent.page.Page;

/**
 * The number of carriers that are alive. From JDK 24 on the scheduler says it itself
 * ({@code jvm_threads_virtual_pool_size_threads}); before, compensation can have started more than its parallelism.
 */
public final class Carriers implements Meters {

	private static final String CARRIER = "jdk.internal.misc.CarrierThread";

	@Override
	public void write(Page page) {
		page.gauge("jvm_threads_virtual_carriers_threads",
				"Carriers that are alive, those started in compensation included",
				PlatformThreads.all().filter((thread) -> thread.getClass().getName().equals(CARRIER)).count());
	}

}
