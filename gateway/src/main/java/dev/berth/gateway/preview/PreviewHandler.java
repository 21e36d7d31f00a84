package dev.berth.gateway.preview;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Admission;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Contract.Operation;
import dev.berth.gateway.http.ProblemAnswer;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.PreviewLinks;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.URIUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Answers what is asked of the ports of sessions, with a credential or by a signed link. It stands in front of the routes,
 * as it takes every method and path, and gives connections away that become WebSockets.
 */
public final class PreviewHandler extends Handler.Wrapper {
    private static final Pattern PORT = Pattern.compile("(/v1/sessions/([^/]+)/ports/([^/]+))(/.*)?");
    private static final Pattern LINK = Pattern.compile("(/v1/links/([^/]+))(/.*)?");
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final Pattern TENANT = Pattern.compile("(?:^|&)tenant_id=([^&]*)");
    /** The API's own, see the contract. */
    private static final String MAKE_LINK = "/link";

    private final Sessions sessions;
    private final Admission admission;
    private final MeterRegistry meters;
    private final Operation preview;
    private final PortProxy proxy = new PortProxy();

    public PreviewHandler(Sessions sessions, Admission admission, Contract contract, MeterRegistry meters) {
        this.sessions = sessions;
        this.admission = admission;
        this.meters = meters;
        this.preview = contract.operation("preview");
    }

    @Override
    public InvocationType getInvocationType() {
        return InvocationType.BLOCKING;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        String path = String.valueOf(request.getHttpURI().getPath());
        Matcher port = PORT.matcher(path);
        if (port.matches() && !(request.getMethod().equals("POST") && MAKE_LINK.equals(port.group(4)))) {
            answer("preview", request, response, callback, () -> byCredential(port, request, response, callback));
            return true;
        }
        Matcher link = LINK.matcher(path);
        if (link.matches()) {
            answer("link", request, response, callback, () -> byLink(link, request, response, callback));
            return true;
        }
        return super.handle(request, response, callback);
    }

    private void answer(String what, Request request, Response response, Callback callback, Runnable way) {
        long began = System.nanoTime();
        String name = UUID.randomUUID().toString();
        String outcome = "ok";
        MDC.put("correlation", name);
        try {
            way.run();
        } catch (RuntimeException e) {
            outcome = "failed";
            ProblemAnswer.send(e, name, request, response, callback);
        } finally {
            MDC.remove("correlation");
            Timer.builder("berth.http.requests")
                    .tag("operation", what)
                    .tag("outcome", outcome)
                    .register(meters)
                    .record(Duration.ofNanos(System.nanoTime() - began));
        }
    }

    private void byCredential(Matcher path, Request request, Response response, Callback callback) {
        Caller caller = admission.admit(preview, header -> request.getHeaders().get(header));
        int port = port(path.group(3));
        SessionKey key = SessionKey.of(tenant(caller, request), decoded(path.group(2)));
        SessionInfo info = sessions.find(key)
                .filter(it -> it.state() != SessionState.DESTROYED)
                .orElseThrow(() -> SandboxException.notFound("there is no such session"));
        serve(info, port, true, path.group(1), path.group(4), request, response, callback);
    }

    /** Read as it stands there, since the query is the port's and may be anything. */
    private static String tenant(Caller caller, Request request) {
        Matcher other = TENANT.matcher(String.valueOf(request.getHttpURI().getQuery()));
        return caller.admin() && other.find() ? other.group(1) : caller.tenant();
    }

    private static String decoded(String segment) {
        try {
            return URIUtil.decodePath(segment);
        } catch (IllegalArgumentException e) {
            throw SandboxException.invalid("the name of the session is not UTF-8");
        }
    }

    private void byLink(Matcher path, Request request, Response response, Callback callback) {
        PreviewLinks.Link link = sessions.previews().open(path.group(2)).orElseThrow(PreviewHandler::noLink);
        SessionInfo info = sessions.find(link.key()).orElseThrow(PreviewHandler::noLink);
        serve(info, link.port(), link.wake(), path.group(1), path.group(3), request, response, callback);
    }

    private static SandboxException noLink() {
        return SandboxException.notFound("there is no such link, or it has run out");
    }

    private static int port(String text) {
        int port = NUMBER.matcher(text).matches() ? Integer.parseInt(text) : 0;
        if (port < 1 || port > 65_535) {
            throw SandboxException.invalid("a port is a number from 1 to 65535");
        }
        return port;
    }

    private void serve(
            SessionInfo info,
            int port,
            boolean wake,
            String prefix,
            @Nullable String path,
            Request request,
            Response response,
            Callback callback) {
        String query = request.getHttpURI().getQuery();
        String asked = query == null ? "" : "?" + query;
        if (path == null) {
            // What a page refers to relatively is under the port, not beside it.
            response.setStatus(308);
            response.getHeaders().put("Location", prefix + "/" + asked);
            callback.succeeded();
            return;
        }
        checkDots(path);
        PortProxy.Target target =
                new PortProxy.Target(port, path + asked, new SharedOrigin(prefix, port), Duration.ZERO);
        try {
            proxy.serve(request, response, callback, up(info, wake), target);
        } catch (SandboxException e) {
            // Somebody put it to sleep between being brought up and being used: it is brought up once more.
            if (e.code() != ErrorCode.CONFLICT || response.isCommitted()) {
                throw e;
            }
            proxy.serve(request, response, callback, up(again(info), wake), target);
        }
    }

    /** A path that leads out of the port would have been asked for as what it leads to by everybody who means well. */
    private static void checkDots(String path) {
        for (String segment : path.split("/")) {
            if (segment.equals("..")) {
                throw SandboxException.invalid("a path with '..' in it is not passed on");
            }
        }
    }

    private SessionInfo again(SessionInfo info) {
        return sessions.find(info.key()).orElseThrow(() -> SandboxException.notFound("there is no such session"));
    }

    /** The session, up. In one that is stopped nothing could listen, so it is not started for this. */
    private Session up(SessionInfo info, boolean wake) {
        switch (info.state()) {
            case STOPPED, ARCHIVED ->
                throw SandboxException.unavailable("the session is " + info.state()
                        + " and nothing runs in it; start it with a call, and its server with it");
            case PAUSED, PAUSING -> {
                if (!wake) {
                    throw SandboxException.unavailable("the session sleeps, and this link does not wake it");
                }
            }
            default -> {}
        }
        return sessions.resolve(info.key());
    }

    /** Breaks off what goes on, so that a server that stops need not wait for it. */
    public void close() {
        proxy.close();
    }
}
