package dev.berth.egress.http;

import dev.berth.egress.policy.Refusal.Reason;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/** How a refusal looks to the program inside; also one of Jetty, which finds that a request is no HTTP. */
final class RefusalPages extends ErrorHandler {
    private static final HttpField TEXT = new HttpField(HttpHeader.CONTENT_TYPE, "text/plain");
    private static final int TOO_LARGE = 431;

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        int status = response.getStatus();
        if (request.getAttribute(ERROR_EXCEPTION) instanceof HttpException e) {
            status = e.getCode();
        }
        Reason reason =
                status == TOO_LARGE ? Reason.TOO_LARGE : status >= 500 ? Reason.UNAVAILABLE : Reason.BAD_REQUEST;
        String sentence = switch (reason) {
            case TOO_LARGE -> "the headers of this request are too large";
            case UNAVAILABLE -> "the proxy failed at this request; try again";
            default -> "this is not a request that can only be read in one way, as HTTP wants it";
        };
        write(response, reason, sentence, callback);
        return true;
    }

    static void write(Response response, Reason reason, String sentence, Callback callback) {
        response.reset();
        response.setStatus(reason.status());
        response.getHeaders().put(TEXT);
        response.getHeaders().put(Headers.REFUSED, reason.toString());
        Content.Sink.write(response, true, "berth: " + printable(sentence) + "\n", callback);
    }

    /** What a program wrote may be repeated in the sentence. */
    private static String printable(String sentence) {
        return sentence.replaceAll("\\p{Cntrl}", "?");
    }
}
