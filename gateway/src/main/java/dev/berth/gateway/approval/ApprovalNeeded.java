package dev.berth.gateway.approval;

import dev.berth.session.SessionKey;
import java.util.Optional;

/** A call that a person has to allow first. */
public final class ApprovalNeeded extends RuntimeException {
    private final transient Optional<SessionKey> session;
    private final String tool;

    /** @param session empty for a call in a computer of its own */
    public ApprovalNeeded(Optional<SessionKey> session, String tool) {
        super("'" + tool + "' has to be allowed by a person", null, false, false);
        this.session = session;
        this.tool = tool;
    }

    Optional<SessionKey> session() {
        return session;
    }

    String tool() {
        return tool;
    }
}
