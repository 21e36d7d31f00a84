package dev.berth.agent.run;

import dev.berth.agent.AgentConfig;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;

/** Which agent a session has. */
public interface Choices {
    Choice of(SessionKey session);

    /**
     * An agent, and its computer.
     *
     * @param runtime its name, such as {@code pi}
     * @param spec of a session that is made for its first message
     */
    record Choice(String runtime, AgentConfig config, SessionSpec spec) {}
}
