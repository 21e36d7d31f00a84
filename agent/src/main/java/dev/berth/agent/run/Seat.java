package dev.berth.agent.run;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentListener;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The agent of a session as this server has it, from one run to the next. Between runs nothing of it is written down. */
final class Seat implements AgentListener {
    private final SessionKey key;
    private final String setup;
    private final Consumer<Seat> whenIdleLost;
    private final CompletableFuture<Agent> agent = new CompletableFuture<>();
    /** Guarded by this, as is the position, so that a run hears everything from where it came. */
    private @Nullable Scribe scribe;

    private long position;

    Seat(SessionKey key, String setup, long position, Consumer<Seat> whenIdleLost) {
        this.key = key;
        this.setup = setup;
        this.position = position;
        this.whenIdleLost = whenIdleLost;
    }

    SessionKey key() {
        return key;
    }

    String setup() {
        return setup;
    }

    synchronized long position() {
        return position;
    }

    void taken(Agent by) {
        agent.complete(by);
    }

    /** Waits until it is there. */
    Agent agent() {
        return agent.join();
    }

    /** Closes the agent if there is one, now or when it comes; not on this thread, which may be the agent's own. */
    void abandon() {
        var _ = agent.thenAccept(it -> Thread.ofVirtual().name("agent-close").start(it::close));
    }

    /** From here on a run is told what the agent does. */
    synchronized void tell(Scribe to, boolean busy) {
        to.seat(position, busy);
        scribe = to;
    }

    synchronized void rest() {
        scribe = null;
    }

    @Override
    public void heard(AgentEvent event, long end) {
        Scribe to;
        synchronized (this) {
            position = end;
            to = scribe;
        }
        if (to != null) {
            to.heard(event, end);
        }
    }

    @Override
    public void lost(SandboxException why) {
        Scribe to;
        synchronized (this) {
            to = scribe;
        }
        if (to != null) {
            to.lost(why);
        } else {
            whenIdleLost.accept(this);
        }
    }
}
