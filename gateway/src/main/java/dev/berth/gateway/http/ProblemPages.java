package dev.berth.gateway.http;

import java.nio.ByteBuffer;
import java.util.UUID;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/** What the server itself refuses, before any of our code sees it, is a problem like all others. */
final class ProblemPages implements Request.Handler {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        int status =
                request.getAttribute(ErrorHandler.ERROR_STATUS) instanceof Integer code ? code : response.getStatus();
        if (!HttpStatus.isClientError(status) && !HttpStatus.isServerError(status)) {
            status = 400;
        }
        Problems.Problem problem = Problems.plain(
                status,
                status < 500 ? "invalid" : "internal",
                status < 500 ? "the request could not be understood" : "this should not have happened",
                UUID.randomUUID().toString());
        response.setStatus(status);
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problems.CONTENT_TYPE);
        boolean last = request.getAttribute(ErrorHandler.ERROR_EXCEPTION) instanceof HttpException
                && request.getConnectionMetaData().getHttpVersion().getVersion() <= HttpVersion.HTTP_1_1.getVersion();
        if (last) {
            // The server closes the connection after what it could not read, and a client is to use another one.
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
        }
        response.write(true, ByteBuffer.wrap(Bodies.JSON.writeValueAsBytes(problem.body())), callback);
        return true;
    }
}
