package vtlab.agent.programs;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;

import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.ThreadPool;
import org.eclipse.jetty.util.thread.VirtualThreadPool;

/** A Jetty whose answers wait for a line of input; the argument says on which
 * threads. */
final class JettyService {

	private JettyService() {
	}

	public static void main(String[] arguments) throws Exception {
		CountDownLatch released = new CountDownLatch(1);
		Server server = new Server(pool((arguments.length > 0) ? arguments[0] : "platform"));
		ServerConnector connector = new ServerConnector(server);
		connector.setPort(0);
		server.addConnector(connector);
		server.setHandler(new Handler.Abstract() {
			@Override
			public boolean handle(Request request, Response response, Callback callback) throws Exception {
				released.await();
				callback.succeeded();
				return true;
			}
		});
		server.start();
		Program.serve(connector.getLocalPort(), (line) -> released.countDown());
	}

	private static ThreadPool pool(String kind) {
		QueuedThreadPool queued = new QueuedThreadPool(17);
		switch (kind) {
			case "virtual":
				return new VirtualThreadPool(13);
			case "handing-over":
				queued.setVirtualThreadsExecutor(Executors.newVirtualThreadPerTaskExecutor());
				return queued;
			default:
				return queued;
		}
	}

}
