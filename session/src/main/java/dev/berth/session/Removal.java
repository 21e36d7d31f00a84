package dev.berth.session;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.util.Optional;
import java.util.Set;

/** Removes everything of a session but its row and its events. */
final class Removal {
    private final Parts parts;

    Removal(Parts parts) {
        this.parts = parts;
    }

    /**
     * Removes it, or goes on removing it.
     *
     * @param loss what the conversation is to be told if it goes on one day; empty if it was asked for
     * @return the row, destroyed
     */
    SessionInfo remove(Custody custody, SessionInfo before, Optional<Loss> loss) {
        if (before.state() == SessionState.DESTROYED) {
            return before;
        }
        parts.checkLocation(before);
        RowChange intent = RowChange.none().json("loss", loss.orElse(null));
        SessionInfo row = before.state() == SessionState.DELETING
                ? before
                : custody.become(before, SessionState.DELETING, intent, SessionEvent.of("sandbox.delete"));
        parts.close(row.key());
        try {
            parts.provider().find(row.sandboxId()).ifPresent(Sandbox::destroy);
            Set<CheckpointId> kept = custody.query(handle -> KeptTable.of(handle, row.sandboxId()));
            for (Checkpoint point : parts.provider().checkpoints()) {
                if (point.sandbox().equals(row.sandboxId()) && !kept.contains(point.id())) {
                    Checkpoints.deleteAt(parts, point.id());
                }
            }
            row.archive().ifPresent(archive -> parts.archives().delete(archive.name()));
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        }
        SessionInfo deleting = row;
        SessionEvent event = SessionEvent.of("sandbox.destroyed");
        SessionInfo destroyed = custody.transaction(handle -> {
            SandboxTable.end(handle, deleting.key(), "deleted");
            handle.createUpdate("DELETE FROM checkpoints WHERE tenant = :tenant AND session = :session")
                    .bind("tenant", deleting.key().tenant())
                    .bind("session", deleting.key().id())
                    .execute();
            RowChange change = RowChange.none()
                    .now("destroyed_at")
                    .set("delete_requested", false)
                    .set("pinned", false)
                    .set("disk_bytes", 0)
                    .set("resume_fail_count", 0)
                    .clear("archive_name", "archive_sha256", "archive_bytes", "archive_template", "agent_session_id")
                    .clear("resumed_at", "paused_at", "stopped_at", "archived_at", "last_error", "retry_at");
            return SessionTable.update(handle, deleting, SessionState.DESTROYED, change, event, true);
        });
        parts.samples().drop(destroyed.key());
        custody.tell(destroyed, event);
        return destroyed;
    }

    /** It is put back, to be tried again later. */
    private static SandboxException failed(Custody custody, SessionInfo row, SandboxException e) {
        RowChange change = RowChange.none()
                .set("last_error", e.code().wireName() + ": " + e.getMessage())
                .set("resume_fail_count", row.resumeFailCount() + 1)
                .fromNow("retry_at", BringUp.backOff(row.resumeFailCount()));
        SessionEvent event = SessionEvent.of("sandbox.delete.failed")
                .with("code", e.code().wireName())
                .with("count", row.resumeFailCount() + 1);
        try {
            custody.become(row, SessionState.ERROR, change, event);
        } catch (SandboxException unwritten) {
            e.addSuppressed(unwritten);
        }
        return e;
    }
}
