package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * What every step in the life of a session works with.
 *
 * @param installation which database this is, as sandboxes are labelled
 * @param lives the sessions that are up in this process
 * @param residents what has to run in the sandbox of a session, if anything
 */
record Parts(
        SessionsConfig config,
        SandboxProvider provider,
        Database database,
        Archives archives,
        Signals signals,
        Journal journal,
        KeyLocks locks,
        Map<SessionKey, Live> lives,
        String installation,
        Function<SessionInfo, Optional<Resident>> residents) {

    static final String INSTALLATION_LABEL = "berth.installation";
    static final String TENANT_LABEL = "berth.tenant";
    static final String SESSION_LABEL = "berth.session";

    Custody custody(SessionKey key) {
        return Custody.take(key, locks, database, journal, Deadline.after(config.patience()));
    }

    Optional<Custody> tryCustody(SessionKey key) {
        return Custody.tryTake(key, locks, database, journal);
    }

    Map<String, String> labels(SessionKey key) {
        return Map.of(INSTALLATION_LABEL, installation, TENANT_LABEL, key.tenant(), SESSION_LABEL, key.id());
    }

    /** A sandbox that this server cannot see is not one that is gone. */
    void checkLocation(SessionInfo session) {
        if (!session.location().equals(provider.location())) {
            throw SandboxException.conflict("session " + session.key() + " has its sandbox at " + session.location()
                    + ", which this server (" + provider.location() + ") does not serve; ask the server that does");
        }
    }

    /** Takes a session out of the way of requests. */
    void close(SessionKey key) {
        Live live = lives.remove(key);
        if (live != null) {
            live.close();
        }
    }
}
