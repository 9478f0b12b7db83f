package vtlab.agent.programs;

import java.util.concurrent.CountDownLatch;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.threads.VirtualThreadExecutor;

/** A Tomcat whose answers wait for a line of input; with the argument {@code virtual} on virtual threads. */
final class TomcatService {

	private TomcatService() {
	}

	public static void main(String[] arguments) throws Exception {
		CountDownLatch released = new CountDownLatch(1);
		Tomcat tomcat = new Tomcat();
		Connector connector = new Connector();
		connector.setPort(0);
		connector.setProperty("maxThreads", "17");
		if (arguments.length > 0) {
			connector.getProtocolHandler().setExecutor(new VirtualThreadExecutor("tomcat-handler-"));
		}
		tomcat.setConnector(connector);
		Context context = tomcat.addContext("", null);
		Tomcat.addServlet(context, "held", new Held(released));
		context.addServletMappingDecoded("/", "held");
		tomcat.start();
		Program.serve(connector.getLocalPort(), (line) -> released.countDown());
	}

	/** Answers once it may. */
	private static final class Held extends HttpServlet {

		private static final long serialVersionUID = 1;

		private final transient CountDownLatch released;

		private Held(CountDownLatch released) {
			this.released = released;
		}

		@Override
		protected void doGet(HttpServletRequest request, HttpServletResponse response) {
			try {
				this.released.await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

}
