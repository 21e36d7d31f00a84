package dev.berth.channel;

import dev.berth.session.SessionKey;
import java.util.Optional;

/** Where it is decided what agents may do. */
public interface Desk {
    /**
     * Whose message the agent acts on that waits for this.
     *
     * @return the {@linkplain Conversations#actor actor}; empty if nothing of that name waits in this session
     */
    Optional<String> requester(SessionKey session, String approval);

    /**
     * Decides, once.
     *
     * @param person who did, to be named wherever it is told
     * @throws dev.berth.sandbox.SandboxException {@code conflict} if somebody else has decided, {@code not_found} if it is
     *     not there
     */
    void decide(SessionKey session, String approval, String person, Inbox.Answer answer);
}
