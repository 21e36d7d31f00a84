package dev.berth.gateway.egress;

import dev.berth.egress.inside.Outfit;
import dev.berth.sandbox.Sandbox;
import dev.berth.session.Equipment;
import dev.berth.session.EventLog;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Gives a session's computer the way to the proxy, and placeholders for its secrets. */
final class SessionEquipment implements Equipment {
    private final Outfit outfit;
    private final SecretBook secrets;
    private final EventLog events;
    private final Consumer<Sandbox> changed;

    /** @param changed is told of sandboxes whose network is another than it was */
    SessionEquipment(Outfit outfit, SecretBook secrets, EventLog events, Consumer<Sandbox> changed) {
        this.outfit = outfit;
        this.secrets = secrets;
        this.events = events;
        this.changed = changed;
    }

    @Override
    public Map<String, String> env(SessionInfo session, @Nullable Sandbox sandbox) {
        Map<String, String> all = new HashMap<>(sandbox == null ? outfit.variables() : outfit.variables(sandbox));
        List<String> named = session.network().secrets();
        if (!named.isEmpty()) {
            all.putAll(secrets.env(session.key(), named));
        }
        return all;
    }

    @Override
    public void install(SessionInfo session, Sandbox sandbox) {
        List<String> problems = outfit.install(sandbox);
        if (!problems.isEmpty()) {
            events.append(
                    session.key(), SessionEvent.of("session.network.incomplete").with("problems", problems));
        }
    }

    @Override
    public void changed(Sandbox sandbox) {
        changed.accept(sandbox);
    }
}
