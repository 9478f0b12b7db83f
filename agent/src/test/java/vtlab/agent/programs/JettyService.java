package vtlab.agent.programs;

import java.util.concurrent.CountDownLatch;

import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.VirtualThreadPool;

/** A Jetty whose answers wait for a line of input; with the argument {@code virtual} on virtual threads. */
final class JettyService {

	private JettyService() {
	}

	public static void main(String[] arguments) throws Exception {
		CountDownLatch released = new CountDownLatch(1);
		Server server = new Server((arguments.length > 0) ? new VirtualThreadPool(13) : new QueuedThreadPool(17));
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

}
