package dev.berth.gateway.http;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Failures of what answers requests itself, beside the routes of the contract: problems like all others. */
public final class ProblemAnswer {
    private static final Logger LOG = LoggerFactory.getLogger(ProblemAnswer.class);
    private static final long MOST_DRAINED = 16 << 20;

    private ProblemAnswer() {}

    /** Answers with the failure if nothing was answered yet, and breaks off otherwise. */
    public static void send(Exception failure, String name, Request request, Response response, Callback callback) {
        if (response.isCommitted()) {
            callback.failed(failure);
            return;
        }
        Problems.Problem problem =
                Problems.of(failure, name, String.valueOf(request.getHttpURI().getPath()));
        drain(request);
        response.reset();
        problem.headers().forEach((header, value) -> response.getHeaders().put(header, value));
        response.setStatus(problem.status());
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problems.CONTENT_TYPE);
        response.getHeaders().put("X-Request-Id", name);
        response.write(true, ByteBuffer.wrap(Bodies.JSON.writeValueAsBytes(problem.body())), callback);
    }

    /** Reads what is left of a body, up to a bound, as many clients look at no answer before they have sent it. */
    private static void drain(Request request) {
        if (request.getHeaders().contains(HttpHeader.EXPECT)) {
            return; // then they wait for the answer
        }
        try {
            byte[] buffer = new byte[16 << 10];
            InputStream body = Request.asInputStream(request);
            long left = MOST_DRAINED;
            for (int n = body.read(buffer); n >= 0 && left > 0; n = body.read(buffer)) {
                left -= n;
            }
        } catch (IOException e) {
            LOG.debug("a client went away before it was answered", e);
        }
    }
}
