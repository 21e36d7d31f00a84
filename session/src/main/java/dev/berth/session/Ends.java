package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;

/**
 * Moves the ends of sessions that have an {@link Expiry}. What is moved comes when it was said to come, or whoever wants to
 * move it is told that it cannot be: of one that is coming up it is not yet known when its time begins, and of one
 * whose end has begun there is nothing to move.
 */
final class Ends {
    private final Parts parts;
    private final Janitor janitor;

    Ends(Parts parts, Janitor janitor) {
        this.parts = parts;
        this.janitor = janitor;
    }

    /** So long from now, sooner or later than it was to be. */
    void set(SessionKey key, Duration fromNow) {
        expire(key, Expiry.bounded(fromNow), true);
    }

    /** So long from now if that is later than it was to be. */
    void putOff(SessionKey key, Duration fromNow) {
        expire(key, Expiry.bounded(fromNow), false);
    }

    private void expire(SessionKey key, Duration fromNow, boolean sooner) {
        Function<Handle, Optional<SessionInfo>> change =
                handle -> SessionTable.expire(handle, key, parts.provider().location(), fromNow, sooner);
        Optional<SessionInfo> changed = parts.database().query(change);
        if (changed.isEmpty() && find(key).filter(Ends::comingUp).isPresent()) {
            try (Custody custody = parts.custody(key)) { // whoever brings it up has it until it is up
                changed = custody.query(change);
            }
        }
        parts.refresh(changed.orElseThrow(() -> cannotExpire(key)));
        janitor.expectStep(fromNow);
    }

    private static boolean comingUp(SessionInfo row) {
        return row.expiry().isPresent()
                && (row.state() == SessionState.CREATING || row.state() == SessionState.RESUMING);
    }

    private SandboxException cannotExpire(SessionKey key) {
        Optional<SessionInfo> row = find(key).filter(SessionInfo::exists);
        if (row.isEmpty()) {
            return Sessions.unknown(key);
        }
        parts.checkLocation(row.get());
        if (row.get().expiry().isEmpty()) {
            return SandboxException.conflict(
                    "session " + key + " does not expire; say first when it should and what is to become of it");
        }
        return SandboxException.conflict(
                row.get().state() == SessionState.ACTIVE
                        ? "the time of session " + key + " is over and its end has begun"
                        : "session " + key + " is " + row.get().state() + ", so its time does not run");
    }

    private Optional<SessionInfo> find(SessionKey key) {
        return parts.database().query(handle -> SessionTable.find(handle, key));
    }
}
