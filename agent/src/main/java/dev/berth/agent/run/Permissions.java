package dev.berth.agent.run;

import dev.berth.agent.AgentEvent.Asked;
import dev.berth.session.SessionKey;

/** Whether an agent may use one of its tools. */
public interface Permissions {
    /**
     * Decides, or asks a person and waits. It is asked again about the same question after a restart of the server, and
     * then goes on waiting for the same person.
     *
     * @param actor whose message the agent acts on
     */
    boolean ask(SessionKey session, String run, String actor, Asked question) throws InterruptedException;
}
