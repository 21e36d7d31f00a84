package dev.berth.session;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxState;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Moves a session down: freezes its processes, ends them, packs its files away. */
final class PutToSleep {
    private final Parts parts;
    private final Packing packing;

    PutToSleep(Parts parts, Packing packing) {
        this.parts = parts;
        this.packing = packing;
    }

    /**
     * Freezes it.
     *
     * @param idle only if nobody used it for so long; empty to do it in any case
     * @return whether it is frozen now
     */
    boolean pause(Custody custody, SessionInfo before, Optional<Duration> idle) {
        if (before.state() == SessionState.PAUSED) {
            return true;
        }
        if (before.state() != SessionState.ACTIVE && before.state() != SessionState.PAUSING) {
            throw SandboxException.conflict("could not pause session " + before.key() + ": it is " + before.state());
        }
        if (!parts.provider().capabilities().contains(Capability.PAUSE)) {
            return stop(custody, before, idle);
        }
        parts.checkLocation(before);
        if (inUse(before, idle)) {
            return false;
        }
        SessionInfo row = before.state() == SessionState.PAUSING
                ? before
                : custody.becomeLightly(
                        before, SessionState.PAUSING, RowChange.none(), SessionEvent.of("sandbox.pausing"));
        if (!close(row.key(), idle)) {
            custody.becomeLightly(row, SessionState.ACTIVE, RowChange.none(), SessionEvent.of("sandbox.busy"));
            return false;
        }
        Optional<Sandbox> sandbox = find(custody, row);
        if (sandbox.isEmpty()) {
            return false;
        }
        RowChange change = measured(sandbox.get()).now("paused_at");
        if (sandbox.get().state() == SandboxState.STOPPED) {
            custody.become(
                    row, SessionState.STOPPED, change.now("stopped_at"), SessionEvent.of("sandbox.found.stopped"));
            return true;
        }
        try {
            sandbox.get().pause();
        } catch (SandboxException e) {
            RowChange error = RowChange.none()
                    .set("last_error", e.code().wireName() + ": " + e.getMessage())
                    .fromNow("retry_at", BringUp.backOff(row.resumeFailCount()));
            custody.becomeLightly(row, SessionState.ACTIVE, error, SessionEvent.of("sandbox.pause.failed"));
            throw e;
        }
        custody.becomeLightly(row, SessionState.PAUSED, change, SessionEvent.of("sandbox.pause"));
        return true;
    }

    /** Freezes an idle session of the same tenant, whose place another one needs. */
    boolean pauseForRoom(Custody custody) {
        Optional<SessionInfo> row = custody.row().filter(it -> it.state() == SessionState.ACTIVE);
        if (row.isEmpty()) {
            return false;
        }
        try {
            return pause(custody, row.get(), Optional.of(Duration.ZERO));
        } catch (SandboxException e) {
            parts.journal().trouble(custody.key(), SessionEvent.of("sandbox.pause.failed"), e);
            return false;
        }
    }

    /** Ends its processes. */
    boolean stop(Custody custody, SessionInfo row, Optional<Duration> idle) {
        if (row.state() == SessionState.STOPPED) {
            return true;
        }
        row.state().checkNext(SessionState.STOPPED);
        parts.checkLocation(row);
        if (inUse(row, idle) || !close(row.key(), idle)) {
            return false;
        }
        Optional<Sandbox> sandbox = find(custody, row);
        if (sandbox.isEmpty()) {
            return false;
        }
        // If this server dies in between, the row says active and the sandbox is stopped; the next one who looks wakes
        // it.
        sandbox.get().stop();
        custody.become(
                row, SessionState.STOPPED, measured(sandbox.get()).now("stopped_at"), SessionEvent.of("sandbox.stop"));
        return true;
    }

    /** Packs its files away and removes the sandbox. Returns false if somebody came who wants it. */
    boolean archive(Custody custody, SessionInfo row) {
        if (row.state() == SessionState.ARCHIVED) {
            return true;
        }
        row.state().checkNext(SessionState.ARCHIVED);
        parts.checkLocation(row);
        Optional<Sandbox> sandbox = find(custody, row);
        if (sandbox.isEmpty()) {
            return false;
        }
        try {
            SessionInfo.Archive archive = packing.pack(sandbox.get(), custody::wanted);
            RowChange change = RowChange.none()
                    .set("archive_name", archive.name())
                    .set("archive_sha256", archive.sha256())
                    .set("archive_bytes", archive.bytes())
                    .set("archive_template", archive.template())
                    .set("disk_bytes", archive.bytes())
                    .now("archived_at");
            SessionEvent event = SessionEvent.of("sandbox.archive").with("bytes", archive.bytes());
            SessionInfo archived = custody.transaction(handle -> {
                // Not after it is destroyed: were this server killed in between, nobody would write it down any more.
                SandboxTable.end(handle, row.key(), "archived");
                return SessionTable.update(handle, row, SessionState.ARCHIVED, change, event, true);
            });
            custody.tell(archived, event);
        } catch (Packing.Wanted e) {
            return false;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not archive session " + row.key() + ": " + e.getMessage(), e);
        }
        // From here on the archive is the session. A sandbox that is left is found by the next settlement.
        sandbox.get().destroy();
        return true;
    }

    private Optional<Sandbox> find(Custody custody, SessionInfo row) {
        Optional<Sandbox> sandbox = parts.provider().find(row.sandboxId());
        if (sandbox.isEmpty() && row.archive().isPresent() && row.state() == SessionState.ERROR) {
            undone(custody, row);
        } else if (sandbox.isEmpty()) {
            gone(custody, row);
        }
        return sandbox;
    }

    /** Its files are packed away as before: it was not unpacked. */
    static void undone(Custody custody, SessionInfo row) {
        custody.query(handle -> SandboxTable.end(handle, row.key(), "never made"));
        custody.become(row, SessionState.ARCHIVED, RowChange.none(), SessionEvent.of("sandbox.undone"));
    }

    /** Notes that its sandbox is gone. The next request for it makes it again and says what was lost. */
    static void gone(Custody custody, SessionInfo row) {
        RowChange change = RowChange.none().set("last_error", "gone: its sandbox is not at the provider any more");
        boolean deletes = row.expiry()
                        .filter(expiry -> expiry.then() == Expiry.Then.DELETE)
                        .isPresent()
                || row.times().resumedAt().isEmpty();
        if (!deletes) {
            change.clear("expires_at"); // there is nothing to pause or stop, and it would be tried for ever
        }
        custody.become(row, SessionState.ERROR, change, SessionEvent.of("sandbox.gone"));
    }

    /** Whether somebody uses it, or used it too short a time ago; never if no time is given. */
    private boolean inUse(SessionInfo row, Optional<Duration> idle) {
        if (idle.isEmpty()) {
            return false;
        }
        Live live = parts.lives().get(row.key());
        if (live != null) {
            return live.held() || live.idle().compareTo(idle.get()) < 0;
        }
        // Another server may use it, and write that down only with its next flush.
        Duration surely = idle.get().plus(parts.config().flush().multipliedBy(3));
        return Duration.between(row.times().lastActivityAt(), Instant.now()).compareTo(surely) < 0;
    }

    private boolean close(SessionKey key, Optional<Duration> idle) {
        Live live = parts.lives().get(key);
        if (live == null) {
            return true;
        }
        if (idle.isPresent() && !live.closeIfIdle(idle.get())) {
            return false;
        }
        parts.close(key);
        return true;
    }

    private static RowChange measured(Sandbox sandbox) {
        try {
            return RowChange.none().set("disk_bytes", sandbox.usage().diskBytes());
        } catch (SandboxException e) {
            return RowChange.none(); // what it takes is known from the last time
        }
    }
}
