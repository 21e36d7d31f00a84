package dev.berth.gateway.e2b.port;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Facts;
import dev.berth.gateway.e2b.Place;
import dev.berth.gateway.e2b.PortService;
import dev.berth.gateway.e2b.Sandboxes;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.gateway.http.HttpProblem;
import dev.berth.gateway.preview.OwnOrigin;
import dev.berth.gateway.preview.PortProxy;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Set;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.util.Callback;

/** Passes on what is asked of the ports of sandboxes, as E2B's proxy does, and answers as it does where nobody else can. */
public final class Ports implements PortService, AutoCloseable {
    /** Where templates with a code interpreter have it. */
    public static final int INTERPRETER = 49_999;

    private static final String TRAFFIC_TOKEN = "e2b-traffic-access-token";
    private static final String ACCESS_TOKEN = "X-Access-Token";

    /** What a template starts by itself may take so long until it listens. */
    private static final Duration START = Duration.ofSeconds(10);

    /** So long after a sandbox came up, that may still be going on. */
    private static final Duration YOUNG = Duration.ofSeconds(30);

    /**
     * What of the interpreter needs no token, as E2B's clients send none there. Everything else does, so that no other way
     * of writing a path that runs code is one without.
     */
    private static final Pattern WITHOUT_TOKEN = Pattern.compile("/health|/contexts(/[A-Za-z0-9_-]+(/restart)?)?");

    private static final Pattern HOST = Pattern.compile("[!-~]{1,255}");

    private final Sandboxes sandboxes;
    private final Tokens tokens;
    private final InstantSource clock;
    private final PortProxy proxy = new PortProxy();

    public Ports(Sandboxes sandboxes, Tokens tokens) {
        this(sandboxes, tokens, InstantSource.system());
    }

    Ports(Sandboxes sandboxes, Tokens tokens, InstantSource clock) {
        this.sandboxes = sandboxes;
        this.tokens = tokens;
        this.clock = clock;
    }

    @Override
    public void serve(Place place, Call call) throws Exception {
        try {
            pass(place, call);
        } catch (E2bError e) {
            if (ErrorPage.wanted(call)) {
                call.answer(e.status(), ErrorPage.TYPE, ErrorPage.of(place, e));
            } else {
                throw e;
            }
        }
    }

    private void pass(Place place, Call call) {
        if (call.method().equals("CONNECT")) {
            throw new E2bError(405, "a port takes no CONNECT").with("sandboxId", place.sandbox());
        }
        try {
            forward(place, call);
        } catch (SandboxException e) {
            // Somebody put it to sleep between being entered and being used: whether it may be woken is asked once
            // more.
            if (e.code() != ErrorCode.CONFLICT || call.response().isCommitted()) {
                throw seen(place, e);
            }
            try {
                forward(place, call);
            } catch (SandboxException again) {
                throw seen(place, again);
            }
        }
    }

    private void forward(Place place, Call call) {
        Session session = sandboxes.enter(place.sandbox(), info -> gate(info, place, call));
        PortProxy.Target target;
        try {
            target = target(session.info(), place, call);
            if (runsCode(place, call)) {
                beforeRun(session, place);
            }
        } catch (RuntimeException e) {
            session.close();
            throw e;
        }
        try {
            proxy.serve(call.request(), call.response(), ending(call), session, target);
        } catch (HttpProblem e) {
            String message = e.code().equals(PortProxy.CLOSED)
                    ? "The sandbox is running but port is not open"
                    : String.valueOf(e.getMessage());
            throw new E2bError(e.status(), message)
                    .with("sandboxId", place.sandbox())
                    .with("port", place.port());
        }
    }

    /** Ends the call, which is the proxy's only when it does: what it throws instead is answered here. */
    private static Callback ending(Call call) {
        return new Callback() {
            @Override
            public void succeeded() {
                call.take().succeeded();
            }

            @Override
            public void failed(Throwable cause) {
                call.take().failed(cause);
            }
        };
    }

    private static RuntimeException seen(Place place, SandboxException e) {
        return switch (e.code()) {
            case CONFLICT ->
                new E2bError(409, "The sandbox is still transitioning; try again in a moment")
                        .with("sandboxId", place.sandbox());
            default -> Sandboxes.seen(place.sandbox(), e);
        };
    }

    // ---- who may -------------------------------------------------------------------------------------------------

    private void gate(SessionInfo info, Place place, Call call) {
        Facts facts = Facts.of(info);
        if (!facts.publicTraffic()) {
            String token = call.header(TRAFFIC_TOKEN)
                    .orElseThrow(
                            () -> denied(place, "Missing traffic access token, send it as '" + TRAFFIC_TOKEN + "'"));
            if (!Tokens.same(token, tokens.traffic(info.key()))) {
                throw denied(place, "Provided traffic access token is invalid");
            }
        }
        if (facts.secure() && runsCode(place, call)) {
            String token = call.header(ACCESS_TOKEN).orElse("");
            if (!Tokens.same(token, tokens.envd(info.key()))) {
                throw new E2bError(401, "unauthorized access, please provide a valid access token")
                        .with("sandboxId", place.sandbox());
            }
        }
    }

    /** Whoever may run code needs the token for that, through the interpreter as through commands. */
    private static boolean secured(Facts facts, Place place) {
        return facts.secure() && place.port() == INTERPRETER;
    }

    private static boolean runsCode(Place place, Call call) {
        return place.port() == INTERPRETER
                && !WITHOUT_TOKEN.matcher(call.uriPath()).matches();
    }

    /** What holds for commands holds for code: there is no way to have E2B's clients wait for a person. */
    private static void beforeRun(Session session, Place place) {
        if (session.info().permissionMode().asksToRun()) {
            throw denied(
                    place,
                    "a person has to allow it before code runs in this sandbox, for which E2B's clients cannot wait;"
                            + " set the permission_mode of session "
                            + session.key().id()
                            + " to 'bypass' with a key that has the scope 'approvals'");
        }
        session.beforeWrite();
    }

    private static E2bError denied(Place place, String message) {
        return new E2bError(403, message).with("sandboxId", place.sandbox());
    }

    // ---- where to ------------------------------------------------------------------------------------------------

    private PortProxy.Target target(SessionInfo info, Place place, Call call) {
        Facts facts = Facts.of(info);
        String asked = call.header(HttpHeader.HOST.asString())
                .orElseGet(() -> String.valueOf(call.request().getHttpURI().getAuthority()));
        String host = facts.maskedHost()
                .map(mask -> mask.replace("${PORT}", Integer.toString(place.port())))
                .filter(mask -> HOST.matcher(mask).matches())
                .orElse(asked);
        Set<String> withheld = secured(facts, place) ? Set.of(TRAFFIC_TOKEN, ACCESS_TOKEN) : Set.of(TRAFFIC_TOKEN);
        boolean starting = place.port() == INTERPRETER && young(info);
        return new PortProxy.Target(
                place.port(),
                String.valueOf(call.request().getHttpURI().getPathQuery()),
                new OwnOrigin(host, withheld),
                starting ? START : Duration.ZERO);
    }

    private boolean young(SessionInfo info) {
        Instant up = info.times().resumedAt().orElse(info.times().createdAt());
        return clock.instant().isBefore(up.plus(YOUNG));
    }

    /** Breaks off everything that goes on. */
    @Override
    public void close() {
        proxy.close();
    }
}
