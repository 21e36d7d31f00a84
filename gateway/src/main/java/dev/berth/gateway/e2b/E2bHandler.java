package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Unauthenticated;
import dev.berth.sandbox.SandboxException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * The door for E2B's clients, in front of the routes of the contract: what is for a port of a sandbox goes there, what is
 * E2B's own API is answered, and everything else is passed on.
 */
public final class E2bHandler extends Handler.Wrapper {
    private static final Logger LOG = LoggerFactory.getLogger(E2bHandler.class);
    /** As much as an upload may still have before it when the disk is full: whoever sends it is to read why. */
    private static final long MOST_DRAINED = 1L << 30;
    /** Of any other: who is refused need not be heard to the end. */
    private static final long LITTLE_DRAINED = 1L << 20;

    private static final int NO_SPACE = 507;

    private final Routes control;
    private final PortService ports;
    private final MeterRegistry meters;

    /** @param next answers what is not E2B's */
    E2bHandler(Handler next, Routes control, PortService ports, MeterRegistry meters) {
        super(next);
        this.control = control;
        this.ports = ports;
        this.meters = meters;
    }

    @Override
    public InvocationType getInvocationType() {
        return InvocationType.BLOCKING;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        Call call = new Call(request, response, callback);
        Optional<Place> place = Place.of(
                String.valueOf(Request.getServerName(request)),
                call.header("E2b-Sandbox-Id"),
                call.header("E2b-Sandbox-Port"));
        if (place.isPresent()) {
            answer("e2b.port", call, it -> ports.serve(place.get(), it));
            return true;
        }
        if (control.own(call.uriPath())) {
            answer("e2b.api", call, control::answer);
            return true;
        }
        return super.handle(request, response, callback);
    }

    private void answer(String what, Call call, Routes.Action action) {
        long began = System.nanoTime();
        String name = UUID.randomUUID().toString();
        String outcome = "ok";
        MDC.put("correlation", name);
        try {
            action.answer(call);
            if (!call.taken()) {
                call.take().succeeded();
            }
        } catch (Exception e) {
            outcome = "failed";
            fail(call, e);
        } finally {
            MDC.remove("correlation");
            Timer.builder("berth.http.requests")
                    .tag("operation", what)
                    .tag("outcome", outcome)
                    .register(meters)
                    .record(Duration.ofNanos(System.nanoTime() - began));
        }
    }

    /** Answers with the failure if nothing was answered yet; otherwise the client finds a connection that broke. */
    private static void fail(Call call, Exception e) {
        if (call.taken()) {
            LOG.debug("failed after it was given away", e);
            return;
        }
        if (e instanceof Call.Broken || call.response().isCommitted()) {
            call.take().failed(e);
            return;
        }
        E2bError error = error(e, call);
        try {
            if (!drain(call.body(), error.status() == NO_SPACE ? MOST_DRAINED : LITTLE_DRAINED)) {
                call.lastOfConnection();
            }
            error.headers().forEach(call::header);
            call.answer(error.status(), error.body());
            call.take().succeeded();
        } catch (IOException | Call.Broken gone) {
            call.take().failed(gone);
        }
    }

    private static E2bError error(Exception e, Call call) {
        return switch (e) {
            case E2bError known -> known;
            case SandboxException known -> E2bError.of(known);
            case Unauthenticated unknown -> E2bError.of(unknown);
            default -> {
                LOG.atError().addKeyValue("path", call.uriPath()).setCause(e).log("http.failed");
                yield new E2bError(500, "this should not have happened; the server's log has more");
            }
        };
    }

    /**
     * Reads what is left of a body, up to a bound, as many clients look at no answer before they have sent it.
     *
     * @return whether that was all
     */
    private static boolean drain(InputStream body, long most) throws IOException {
        byte[] buffer = new byte[16 << 10];
        long left = most;
        for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
            left -= n;
            if (left < 0) {
                return false;
            }
        }
        return true;
    }
}
