package dev.berth.gateway.mcp;

import dev.berth.gateway.auth.Caller;
import dev.berth.sandbox.SandboxException;
import dev.berth.tool.Stop;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What the protocol calls a session, which is not one of ours: a client that has introduced itself. */
final class Conversation {
    private static final int MOST_SESSIONS = 100;
    private static final int MOST_RUNNING = 100;

    private final McpStreamableServerSession session;
    private final String tenant;
    private final boolean admin;
    private final Map<Object, Stop> running = new ConcurrentHashMap<>();
    private final Set<String> used = new LinkedHashSet<>(); // guarded by itself
    private volatile long seen = System.nanoTime();

    Conversation(McpStreamableServerSession session, Caller owner) {
        this.session = session;
        this.tenant = owner.tenant();
        this.admin = owner.admin();
    }

    String id() {
        return session.getId();
    }

    McpStreamableServerSession session() {
        return session;
    }

    String tenant() {
        return tenant;
    }

    boolean belongsTo(Caller caller) {
        return tenant.equals(caller.tenant()) && admin == caller.admin();
    }

    void seen() {
        seen = System.nanoTime();
    }

    boolean idle(Duration time) {
        return running.isEmpty() && !session.hasOpenStream() && System.nanoTime() - seen > time.toNanos();
    }

    long lastSeen() {
        return seen;
    }

    // ---- requests ------------------------------------------------------------------------------------------------

    void begin(Object id, Stop stop) {
        if (running.size() >= MOST_RUNNING) {
            throw SandboxException.limit("this client has " + MOST_RUNNING + " requests open; wait for some of them");
        }
        if (running.putIfAbsent(id, stop) != null) {
            throw SandboxException.invalid("a request with the id " + id + " is open already; use another");
        }
    }

    void end(Object id) {
        running.remove(id);
        seen();
    }

    /** One that is not there has ended already, which is nobody's fault. */
    void cancel(Object id) {
        Stop stop = running.get(id);
        if (stop != null) {
            stop.stop();
        }
    }

    /** Ends everything that runs. */
    void close() {
        running.values().forEach(Stop::stop);
        session.close();
    }

    // ---- our sessions --------------------------------------------------------------------------------------------

    /** Remembers that calls were made in a session; the first ones, if there are very many. */
    void uses(String id) {
        synchronized (used) {
            if (used.size() < MOST_SESSIONS) {
                used.add(id);
            }
        }
    }

    List<String> used() {
        synchronized (used) {
            return List.copyOf(used);
        }
    }
}
