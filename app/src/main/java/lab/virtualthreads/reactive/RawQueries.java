package lab.virtualthreads.reactive;

import java.util.HexFormat;
import java.util.regex.Pattern;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpRequest;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.stereotype.Component;

/**
 * Queries for which Spring WebFlux would answer an empty 400, because they are not part of a URI, reach the check that
 * names the parameter. These are the characters of {@code server.tomcat.relaxed-query-chars}, and percent signs without
 * two digits, which are taken to be meant as such.
 */
@Component
@ConditionalOnWebApplication(type = Type.REACTIVE)
class RawQueries implements NettyServerCustomizer {

	private static final Pattern RAW = Pattern.compile("[\"<>\\[\\\\\\]^`{|}]|%(?![0-9a-fA-F]{2})");

	@Override
	public HttpServer apply(HttpServer server) {
		return server.doOnChannelInit((observer, channel, address) -> channel.pipeline()
			.addAfter(NettyPipeline.HttpCodec, "raw-queries", new Escaper()));
	}

	private static final class Escaper extends ChannelInboundHandlerAdapter {

		@Override
		public void channelRead(ChannelHandlerContext context, Object message) {
			if (message instanceof HttpRequest request) {
				request.setUri(RAW.matcher(request.uri())
					.replaceAll((match) -> "%" + HexFormat.of().toHexDigits((byte) match.group().charAt(0))));
			}
			context.fireChannelRead(message);
		}

	}

}
