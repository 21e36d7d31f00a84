package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What a session is to be when its computer is made. It is read when the first message of a conversation comes; later
 * ones get the computer that is there.
 *
 * @param network what it may reach
 * @param channel where the conversation happens, for people who look at a list
 * @param env variables for each command; no place for keys, which a sandbox should never see
 * @param autoCheckpoint whether the files are kept before a turn's first write
 * @param keepCheckpoints of how many turns they are kept
 * @param metadata notes of whoever makes it, by which it can be listed
 * @param expiry how long it stays up each time, if not for as long as it is used
 * @param mounts volumes among its files
 * @param surface what the surface by which it is made wants to know again of it, which is nobody else's business
 */
public record SessionSpec(
        String template,
        Limits limits,
        Network network,
        Map<String, String> env,
        Optional<String> channel,
        IdlePolicy idle,
        boolean autoCheckpoint,
        int keepCheckpoints,
        Map<String, String> metadata,
        Optional<Expiry> expiry,
        Map<String, String> surface,
        List<Mount> mounts) {
    private static final int METADATA_ENTRIES = 256;
    private static final int METADATA_CHARACTERS = 64 << 10;

    public static final SessionSpec DEFAULT = new SessionSpec(
            "base",
            Limits.DEFAULT,
            Network.NONE,
            Map.of(),
            Optional.empty(),
            IdlePolicy.DEFAULT,
            false,
            20,
            Map.of(),
            Optional.empty(),
            Map.of(),
            List.of());

    public SessionSpec {
        env = Map.copyOf(env);
        metadata = Map.copyOf(metadata);
        surface = Map.copyOf(surface);
        mounts = Mount.checked(mounts);
        checkMetadata(metadata);
        if (keepCheckpoints < 1 || keepCheckpoints > 1000) {
            throw SandboxException.invalid("checkpoints are kept of 1 to 1000 turns, not " + keepCheckpoints);
        }
    }

    /** What a session is made by that is to be as another one is. */
    static SessionSpec of(SessionInfo session) {
        return new SessionSpec(
                session.template(),
                session.limits(),
                session.network(),
                session.env(),
                session.channel(),
                session.idle(),
                session.autoCheckpoint(),
                session.keepCheckpoints(),
                session.metadata(),
                session.expiry(),
                session.surface(),
                session.mounts());
    }

    private static void checkMetadata(Map<String, String> metadata) {
        long characters = metadata.entrySet().stream()
                .mapToLong(entry -> entry.getKey().length() + entry.getValue().length())
                .sum();
        if (metadata.size() > METADATA_ENTRIES || characters > METADATA_CHARACTERS) {
            throw SandboxException.invalid("metadata has at most " + METADATA_ENTRIES + " entries with "
                    + METADATA_CHARACTERS + " characters together");
        }
    }

    public SessionSpec withTemplate(String name) {
        return with(draft -> draft.template = name);
    }

    public SessionSpec withLimits(Limits newLimits) {
        return with(draft -> draft.limits = newLimits);
    }

    public SessionSpec withNetwork(Network newNetwork) {
        return with(draft -> draft.network = newNetwork);
    }

    public SessionSpec withEnv(Map<String, String> newEnv) {
        return with(draft -> draft.env = newEnv);
    }

    public SessionSpec withChannel(String name) {
        return with(draft -> draft.channel = Optional.of(name));
    }

    /** The same, as one that was made by no surface in particular. */
    SessionSpec withoutChannel() {
        return with(draft -> {
            draft.channel = Optional.empty();
            draft.surface = Map.of();
        });
    }

    public SessionSpec withIdle(IdlePolicy policy) {
        return with(draft -> draft.idle = policy);
    }

    /** Keeps the files as they were before each of the last turns that wrote something. */
    public SessionSpec withAutoCheckpoints(int keep) {
        return with(draft -> {
            draft.autoCheckpoint = true;
            draft.keepCheckpoints = keep;
        });
    }

    public SessionSpec withMetadata(Map<String, String> newMetadata) {
        return with(draft -> draft.metadata = newMetadata);
    }

    public SessionSpec withExpiry(Expiry newExpiry) {
        return with(draft -> draft.expiry = Optional.of(newExpiry));
    }

    public SessionSpec withSurface(Map<String, String> newSurface) {
        return with(draft -> draft.surface = newSurface);
    }

    public SessionSpec withMounts(List<Mount> newMounts) {
        return with(draft -> draft.mounts = newMounts);
    }

    private SessionSpec with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.spec();
    }

    /** One that is being changed. */
    private static final class Draft {
        private String template;
        private Limits limits;
        private Network network;
        private Map<String, String> env;
        private Optional<String> channel;
        private IdlePolicy idle;
        private boolean autoCheckpoint;
        private int keepCheckpoints;
        private Map<String, String> metadata;
        private Optional<Expiry> expiry;
        private Map<String, String> surface;
        private List<Mount> mounts;

        private Draft(SessionSpec of) {
            template = of.template;
            limits = of.limits;
            network = of.network;
            env = of.env;
            channel = of.channel;
            idle = of.idle;
            autoCheckpoint = of.autoCheckpoint;
            keepCheckpoints = of.keepCheckpoints;
            metadata = of.metadata;
            expiry = of.expiry;
            surface = of.surface;
            mounts = of.mounts;
        }

        private SessionSpec spec() {
            return new SessionSpec(
                    template,
                    limits,
                    network,
                    env,
                    channel,
                    idle,
                    autoCheckpoint,
                    keepCheckpoints,
                    metadata,
                    expiry,
                    surface,
                    mounts);
        }
    }
}
