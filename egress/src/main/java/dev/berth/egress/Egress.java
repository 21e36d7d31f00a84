package dev.berth.egress;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.HttpSide;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Target;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The proxy that programs in sandboxes find on their loopback. It reads what a connection begins with, lets the
 * {@link Gate} decide, carries what is opaque itself and gives what is HTTP to the {@link HttpSide}. A connection counts
 * in its sandbox's account from here on, whoever serves it; the bytes and visits of HTTP are the HTTP side's to count.
 */
public final class Egress implements Outlet, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Egress.class);
    private static final Duration FAREWELL = Duration.ofSeconds(2);
    private static final int MOST_DRAINED = 1 << 20;

    private final EgressConfig config;
    private final Gate gate;
    private final Function<Sandbox, Policy> policies;
    private final HttpSide http;
    private final Deadlines deadlines = new Deadlines();
    private final Connect connect;
    private final Map<SandboxId, Seat> seats = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * @param gate the one that the HTTP side asks too
     * @param http closed with this
     */
    public Egress(EgressConfig config, Gate gate, Function<Sandbox, Policy> policies, HttpSide http) {
        this.config = config;
        this.gate = gate;
        this.policies = policies;
        this.http = http;
        this.connect = new Connect(config, gate, http, deadlines);
    }

    @Override
    public void take(Sandbox sandbox, Connection connection) {
        Policy policy = policies.apply(sandbox);
        Seat seat = seats.computeIfAbsent(sandbox.id(), id -> new Seat(policy));
        seat.policy(policy);
        try {
            if (closed) {
                return;
            }
            try (Account.Open _ = seat.account().open()) {
                serve(seat, policy, connection);
            } catch (Refusal e) {
                turnAway(seat, policy, connection, e);
            }
        } catch (IOException e) {
            LOG.debug("a program in {} left its connection", sandbox.id(), e);
        }
    }

    private void serve(Seat seat, Policy policy, Connection connection) throws IOException {
        try {
            RequestHead head = head(connection);
            if (head.method().equals("CONNECT")) {
                connect.serve(seat, policy, head, new PushedBack(head.rest(), connection));
            } else {
                try (Seat.On _ = seat.board(gate, new Seat.Ride(Optional.empty(), connection::close))) {
                    http.proxy(new Passage(policy, seat.account(), new PushedBack(head.bytes(), connection)));
                }
                return;
            }
        } catch (Refusal e) {
            LOG.debug("a request was refused that names no destination", e);
            Answer.refused(connection.output(), e);
        }
        farewell(connection);
    }

    private RequestHead head(Connection connection) throws IOException, Refusal {
        try (Deadlines.Standing _ = deadlines.in(config.firstWords(), connection::close)) {
            return RequestHead.read(connection.input());
        }
    }

    /** Tells a program, and whoever looks after its sandbox, that there are too many connections already. */
    private void turnAway(Seat seat, Policy policy, Connection connection, Refusal why) throws IOException {
        if (!seat.turnedAway().tryAcquire()) {
            return;
        }
        try {
            RequestHead head = head(connection);
            policy.visited(new Visit(target(head), Optional.of(why.reason()), why.getMessage(), 0, 0));
            Answer.refused(connection.output(), why);
        } catch (Refusal e) {
            Answer.refused(connection.output(), e);
        } finally {
            seat.turnedAway().release();
        }
        farewell(connection);
    }

    private static Target target(RequestHead head) throws Refusal {
        if (head.method().equals("CONNECT")) {
            return Target.parse(head.target(), 443);
        }
        try {
            URI uri = URI.create(head.target());
            boolean https = "https".equalsIgnoreCase(uri.getScheme());
            return Target.parse(String.valueOf(uri.getRawAuthority()), https ? 443 : 80);
        } catch (IllegalArgumentException e) {
            throw new Refusal(Refusal.Reason.BAD_REQUEST, "'" + head.target() + "' is not an address", e);
        }
    }

    /** A connection that is closed while something on it is unread is reset, and the last answer may be lost by that. */
    private void farewell(Connection connection) throws IOException {
        try (Deadlines.Standing _ = deadlines.in(FAREWELL, connection::close)) {
            connection.output().close();
            byte[] buffer = new byte[8192];
            int drained = 0;
            while (drained < MOST_DRAINED) {
                int n = connection.input().read(buffer);
                if (n < 0) {
                    return;
                }
                drained += n;
            }
        }
    }

    /** The rules of a sandbox have changed: what they do not allow any more is cut. */
    public void changed(SandboxId sandbox) {
        Seat seat = seats.get(sandbox);
        if (seat != null) {
            seat.changed(gate);
        }
    }

    /** A sandbox is gone, and what was counted for it is of no use any more. */
    public void forget(SandboxId sandbox) {
        Seat seat = seats.remove(sandbox);
        if (seat != null) {
            seat.close();
        }
    }

    /** Cuts everything. */
    @Override
    public void close() {
        closed = true;
        seats.values().forEach(Seat::close);
        http.close();
        deadlines.close();
    }
}
