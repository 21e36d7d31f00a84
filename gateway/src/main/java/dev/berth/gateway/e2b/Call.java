package dev.berth.gateway.e2b;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;
import tools.jackson.databind.node.ObjectNode;

/** One request and its answer, for blocking code. */
public final class Call {
    /** Of a JSON body. E2B's clients send settings so; files go by other ways. */
    static final int MOST_JSON = 1 << 20;
    /** Of one with the steps of a build. */
    static final int MOST_STEPS = 16 << 20;

    private static final String JSON = "application/json";

    private final Request request;
    private final Response response;
    private final Callback callback;
    private final Map<String, String> path;
    private final int mostJson;
    private boolean taken;

    private Call(Request request, Response response, Callback callback, Map<String, String> path, int mostJson) {
        this.request = request;
        this.response = response;
        this.callback = callback;
        this.path = path;
        this.mostJson = mostJson;
    }

    Call(Request request, Response response, Callback callback) {
        this(request, response, callback, Map.of(), MOST_JSON);
    }

    /** The same, as a route has it. */
    Call with(Map<String, String> parameters, int most) {
        return new Call(request, response, callback, parameters, most);
    }

    public Request request() {
        return request;
    }

    public Response response() {
        return response;
    }

    /** Says that somebody else ends the request, and returns by what. */
    public Callback take() {
        taken = true;
        return callback;
    }

    /** Whether it is ended by somebody else. */
    boolean taken() {
        return taken;
    }

    // ---- what is asked -------------------------------------------------------------------------------------------

    public String method() {
        return request.getMethod();
    }

    /** Without the query, and as it was sent. */
    public String uriPath() {
        return String.valueOf(request.getHttpURI().getPath());
    }

    /** A parameter of the route, decoded. */
    public String path(String name) {
        String value = path.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the route has no '" + name + "'");
        }
        return URLDecoder.decode(value.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    public Optional<String> query(String name) {
        Optional<String> value = Optional.ofNullable(queries().getValue(name));
        value.filter(text -> text.indexOf('\0') >= 0).ifPresent(_ -> {
            throw new E2bError(400, name + " has a character that no text can have");
        });
        return value;
    }

    private Fields queries() {
        try {
            return Request.extractQueryParameters(request, StandardCharsets.UTF_8);
        } catch (RuntimeException e) {
            throw new E2bError(400, "the query cannot be read");
        }
    }

    public Optional<String> header(String name) {
        return Optional.ofNullable(request.getHeaders().get(name));
    }

    public Iterable<HttpField> headers() {
        return request.getHeaders();
    }

    /** The body as it comes. */
    public InputStream body() {
        return Request.asInputStream(request);
    }

    /** The body as JSON; an empty object if there is none. */
    public ObjectNode json() {
        try {
            byte[] bytes = body().readNBytes(mostJson + 1);
            if (bytes.length > mostJson) {
                throw new E2bError(413, "the body is larger than " + mostJson + " bytes");
            }
            return Json.object(bytes);
        } catch (IOException e) {
            throw SandboxException.unavailable("the client went away before it had asked", e);
        }
    }

    // ---- what is answered ----------------------------------------------------------------------------------------

    public Call header(String name, String value) {
        response.getHeaders().put(name, value);
        return this;
    }

    /** Says that the connection is not used again, as there is more of the request than anybody reads. */
    void lastOfConnection() {
        if (request.getConnectionMetaData().getHttpVersion().getVersion() <= HttpVersion.HTTP_1_1.getVersion()) {
            response.getHeaders().put(HttpHeader.CONNECTION, "close");
        }
    }

    public void answer(int status) {
        response.setStatus(status);
        if (status != 204 && status != 304) { // the latter would tell how much there is
            // or E2B's clients take the nothing that comes for JSON
            response.getHeaders().put(HttpHeader.CONTENT_LENGTH, 0);
        }
        write(new byte[0]);
    }

    public void answer(int status, Object json) {
        answer(status, JSON, Json.bytes(json));
    }

    public void answer(int status, String contentType, byte[] body) {
        response.setStatus(status);
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, contentType);
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
        write(body);
    }

    private void write(byte[] body) {
        try (OutputStream out = Content.Sink.asOutputStream(response)) {
            out.write(body);
        } catch (IOException e) {
            throw new Broken(e);
        }
    }

    /** Begins an answer that is written as it comes. Each flush is on its way at once; closing it is its end. */
    public OutputStream stream(int status, String contentType) {
        response.setStatus(status);
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, contentType);
        return Content.Sink.asOutputStream(response);
    }

    /** That the answer cannot be ended as it should: the client is to see a connection that broke. */
    public static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public Broken(Throwable cause) {
            super("the answer was broken off", cause);
        }
    }
}
