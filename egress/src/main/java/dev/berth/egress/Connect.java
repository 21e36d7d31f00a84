package dev.berth.egress;

import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.HttpSide;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Target;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import java.io.IOException;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves requests for a connection (CONNECT, RFC 9110, 9.3.6).
 *
 * <pre>
 * port 80, or what has to be looked into:   answer 200, see how the program begins
 *     TLS, the server's name agrees         opened by the HTTP side if it has to be looked into, else carried
 *     anything else                         HTTP; refused on port 443
 * the rest:                                 connect to the server, answer 200, carry
 *     restricted, port 443                  only if it begins with TLS and the server's name agrees
 *     restricted, other ports               any protocol; if it begins with TLS the server's name agrees
 *     open                                  any protocol: whatever it is, it could go without a proxy too
 * </pre>
 */
final class Connect {
    private static final Logger LOG = LoggerFactory.getLogger(Connect.class);
    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    private final EgressConfig config;
    private final Gate gate;
    private final HttpSide http;
    private final Deadlines deadlines;
    private final Dialer dialer;

    Connect(EgressConfig config, Gate gate, HttpSide http, Deadlines deadlines) {
        this.config = config;
        this.gate = gate;
        this.http = http;
        this.deadlines = deadlines;
        this.dialer = new Dialer(config.connect());
    }

    /** One request, and who made it. */
    private record Call(Seat seat, Policy policy, Target target, Connection program) {
        void visited(Optional<Refusal> refused, long sent, long received) {
            policy.visited(new Visit(
                    target,
                    refused.map(Refusal::reason),
                    refused.map(Refusal::getMessage).orElse(""),
                    sent,
                    received));
        }
    }

    /** @param program its input is what comes behind the head */
    void serve(Seat seat, Policy policy, RequestHead head, Connection program) throws IOException, Refusal {
        Target target = target(head);
        Call call = new Call(seat, policy, target, program);
        Way way;
        Optional<Socket> server;
        try {
            way = gate.connection(policy, target);
            server = looked(way) ? Optional.empty() : Optional.of(dialer.dial(way));
        } catch (Refusal e) {
            call.visited(Optional.of(e), 0, 0);
            Answer.refused(program.output(), e);
            return;
        }
        if (server.isPresent()) {
            boolean open = policy.network().mode() == Network.Mode.OPEN;
            carry(call, way, server.get(), tunnel -> open ? new byte[0] : opening(call, tunnel));
        } else {
            look(call, way);
        }
    }

    private static boolean looked(Way way) {
        return way.inspected() || way.target().port() == HTTP;
    }

    private static Target target(RequestHead head) throws Refusal {
        if (head.target().lastIndexOf(':') <= head.target().lastIndexOf(']')) {
            throw new Refusal(Reason.BAD_REQUEST, "'" + head.target() + "' is not a host and port");
        }
        boolean body = !head.values("Transfer-Encoding").isEmpty()
                || head.values("Content-Length").stream().anyMatch(length -> !length.equals("0"));
        if (body) {
            throw new Refusal(Reason.BAD_REQUEST, "a request for a connection has no body");
        }
        return Target.parse(head.target(), HTTPS);
    }

    /** What may be HTTP: the program has to begin, for only then is it known how to go on. */
    private void look(Call call, Way way) throws IOException {
        AtomicReference<@Nullable Refusal> cut = new AtomicReference<>();
        Opening opening;
        try (Deadlines.Standing _ = deadlines.in(config.firstWords(), () -> cut(call, cut, silent()));
                Seat.On _ = call.seat()
                        .board(gate, new Seat.Ride(Optional.of(way), () -> cut(call, cut, noLonger(call))))) {
            Answer.connected(call.program().output());
            opening = Opening.read(call.program().input());
        } catch (IOException e) {
            LOG.debug("a program left before it said anything", e);
            call.visited(Optional.ofNullable(cut.get()), 0, 0);
            return;
        }
        if (opening.bytes().length == 0) {
            call.visited(Optional.ofNullable(cut.get()), 0, 0);
            return;
        }
        boolean tls;
        Optional<Socket> server;
        try {
            tls = checked(call.target(), opening, way.target().port() == HTTPS);
            server = tls && !way.inspected() ? Optional.of(dialer.dial(way)) : Optional.empty();
        } catch (Refusal e) {
            call.visited(Optional.of(e), 0, 0);
            refuseLate(call.program(), opening, e);
            return;
        }
        Connection whole = new PushedBack(opening.bytes(), call.program());
        if (server.isPresent()) {
            tunnel(call, way, server.get(), _ -> opening.bytes());
        } else {
            try (Seat.On _ = call.seat().board(gate, new Seat.Ride(Optional.of(way), whole::close))) {
                http.within(new Passage(call.policy(), call.seat().account(), whole), way, tls);
            }
        }
    }

    /** What the program says first in a tunnel, by which the tunnel may be refused. */
    private interface First {
        byte[] of(Tunnel tunnel) throws IOException, Refusal;
    }

    private void carry(Call call, Way way, Socket server, First first) throws IOException {
        try {
            Answer.connected(call.program().output());
        } catch (IOException e) {
            server.close();
            call.visited(Optional.empty(), 0, 0);
            throw e;
        }
        tunnel(call, way, server, first);
    }

    private void tunnel(Call call, Way way, Socket server, First first) {
        Tunnel tunnel = new Tunnel(call.seat().account(), call.program(), server, config.idle(), deadlines);
        Way taken = new Way(way.target(), List.of(server.getInetAddress()), way.inspected());
        Tunnel.Outcome outcome;
        try (Seat.On _ = call.seat().board(gate, new Seat.Ride(Optional.of(taken), () -> tunnel.cut(noLonger(call))))) {
            outcome = tunnel.run(() -> first.of(tunnel));
        }
        call.visited(outcome.broken(), outcome.sent(), outcome.received());
    }

    /** Servers of other protocols may speak first, so their tunnel is open the other way while this waits. */
    private byte[] opening(Call call, Tunnel tunnel) throws IOException, Refusal {
        boolean https = call.target().port() == HTTPS;
        Opening opening;
        try (Deadlines.Standing _ = https ? deadlines.in(config.firstWords(), () -> tunnel.cut(silent())) : () -> {}) {
            opening = Opening.read(call.program().input());
        }
        try {
            checked(call.target(), opening, https);
            return opening.bytes();
        } catch (Refusal e) {
            refuseLate(call.program(), opening, e);
            throw e;
        }
    }

    private static void cut(Call call, AtomicReference<@Nullable Refusal> reason, Refusal why) {
        reason.compareAndSet(null, why);
        call.program().close();
    }

    private static Refusal noLonger(Call call) {
        return new Refusal(Reason.NOT_ALLOWED, call.target() + " is no longer among what this sandbox may reach");
    }

    private Refusal silent() {
        return new Refusal(
                Reason.BAD_REQUEST,
                "the program said nothing for " + config.firstWords().toSeconds() + " s");
    }

    /**
     * Whether it begins with TLS.
     *
     * @throws Refusal if it does so for another server than the connection is for, or not at all where it has to
     */
    private static boolean checked(Target target, Opening opening, boolean mustBeTls) throws Refusal {
        return switch (opening.hello()) {
            case ClientHello.Complete hello -> {
                Optional<String> expected =
                        target.address().isPresent() ? Optional.empty() : Optional.of(target.host());
                if (!hello.server().equals(expected)) {
                    throw new Refusal(
                            Reason.HOST_MISMATCH,
                            "the connection is for " + target + ", but TLS on it is for "
                                    + hello.server().orElse("no server in particular"));
                }
                yield true;
            }
            case ClientHello.Broken broken ->
                throw new Refusal(Reason.NOT_TLS, "the TLS to " + target + " could not be read: " + broken.why());
            case ClientHello.Foreign _ -> {
                if (mustBeTls) {
                    throw new Refusal(Reason.NOT_TLS, "what is sent to " + target + " is not TLS");
                }
                yield false;
            }
            case ClientHello.Partial _ -> {
                if (opening.bytes().length > 0) {
                    throw new Refusal(Reason.NOT_TLS, "the TLS to " + target + " ended in its first message");
                }
                yield false;
            }
        };
    }

    /** After the program was told that it is connected: it reads what its own protocol says, if anything. */
    private static void refuseLate(Connection program, Opening opening, Refusal refusal) throws IOException {
        if (opening.hello() instanceof ClientHello.Foreign) {
            Answer.refused(program.output(), refusal);
        } else {
            Answer.deniedWithinTls(program.output());
        }
    }
}
