package dev.berth.session;

import dev.berth.sandbox.Network;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What every step in the life of a session works with.
 *
 * @param installation which database this is, as sandboxes are labelled
 * @param lives the sessions that are up in this process
 * @param samples what they used
 * @param ids those of them that were asked for by their id alone
 * @param residents what has to run in the sandbox of a session, if anything
 * @param equipment what it is given for its way out
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
        Map<String, SessionKey> ids,
        Samples samples,
        String installation,
        Function<SessionInfo, Optional<Resident>> residents,
        AtomicReference<Equipment> equipment) {

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

    /** Whose a sandbox is by its labels; empty if it is none of this installation's. */
    Optional<SessionKey> owner(Sandbox sandbox) {
        Map<String, String> labels = sandbox.info().labels();
        String tenant = labels.get(TENANT_LABEL);
        String session = labels.get(SESSION_LABEL);
        return installation.equals(labels.get(INSTALLATION_LABEL)) && tenant != null && session != null
                ? Optional.of(new SessionKey(tenant, session))
                : Optional.empty();
    }

    /** A sandbox that this server cannot see is not one that is gone. */
    void checkLocation(SessionInfo session) {
        if (!session.location().equals(provider.location())) {
            throw SandboxException.conflict("session " + session.key() + " has its sandbox at " + session.location()
                    + ", which this server (" + provider.location() + ") does not serve; ask the server that does");
        }
    }

    /** The variables of a session's commands: its own, and those of its way out. */
    Map<String, String> env(SessionInfo session, @Nullable Sandbox sandbox) {
        if (session.network().mode() == Network.Mode.NONE) {
            return session.env();
        }
        Map<String, String> all = new HashMap<>(equipment.get().env(session, sandbox));
        all.putAll(session.env());
        return all;
    }

    /** Makes a sandbox reach what its session says, and programs in it find the way. */
    void equip(SessionInfo session, Sandbox sandbox) {
        boolean connected = session.network().mode() != Network.Mode.NONE;
        if (!connected && sandbox.network().mode() == Network.Mode.NONE) {
            return;
        }
        Map<String, String> env = env(session, sandbox);
        if (!sandbox.env().equals(env)) {
            sandbox.env(env);
        }
        if (!sandbox.network().equals(session.network())) {
            sandbox.network(session.network());
            equipment.get().changed(sandbox);
        }
        if (connected) {
            equipment.get().install(session, sandbox);
        }
    }

    /** Lets those who use a session here see what was read of it. */
    void refresh(SessionInfo info) {
        Live live = lives.get(info.key());
        if (live != null) {
            live.info(info);
        }
    }

    /** Takes a session out of the way of requests. */
    void close(SessionKey key) {
        lives.computeIfPresent(key, (_, live) -> {
            ids.remove(key.id());
            live.close();
            return null;
        });
    }

    /** The session of an id, if it is up here and was asked for by that before. */
    Optional<SessionInfo> ifUp(String id) {
        SessionKey key = ids.get(id);
        Live live = key == null ? null : lives.get(key);
        return live != null && live.usable() ? Optional.of(live.info()) : Optional.empty();
    }

    /** Remembers whose an id is for as long as that session is up here. */
    void remember(SessionKey key) {
        lives.computeIfPresent(key, (_, live) -> {
            ids.put(key.id(), key);
            return live;
        });
    }
}
