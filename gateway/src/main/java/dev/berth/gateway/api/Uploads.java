package dev.berth.gateway.api;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.SafeName;
import dev.berth.tool.Workspace;
import java.io.InputStream;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Puts files that people give to a session into its workspace, each under a name that is safe and new. */
public final class Uploads {
    /** How large one may be. */
    public static final long MOST_BYTES = 1L << 30;

    private static final String FOLDER = "uploads/";
    private static final int MOST_TRIED = 10_000;

    private final Sessions sessions;
    /** Names of uploads that are under way: two at a time must not get the same. */
    private final Set<Name> taken = ConcurrentHashMap.newKeySet();

    private record Name(SessionKey session, String name) {}

    /**
     * Where one is now.
     *
     * @param path in the workspace
     * @param renamed whether it has another name than was given
     */
    public record Stored(String path, String name, boolean renamed, long size, String sha256) {
        Map<String, Object> facts() {
            return Map.of("path", path, "name", name, "renamed", renamed, "size", size, "sha256", sha256);
        }
    }

    public Uploads(Sessions sessions) {
        this.sessions = sessions;
    }

    /**
     * Stores all of it, or nothing.
     *
     * @param given what it is called by whoever sent it: anything at all
     * @throws SandboxException {@code limit} if it is too large
     */
    public Stored store(Session session, String given, InputStream bytes, String actor) {
        SandboxFiles files = Workspace.of(session.sandbox()).files();
        Name name = take(session.key(), files, SafeName.of(given));
        try {
            UploadInput content = new UploadInput(bytes, MOST_BYTES);
            String path = FOLDER + name.name();
            files.write(path, content);
            Stored stored = new Stored(path, name.name(), !name.name().equals(given), content.size(), content.sha256());
            sessions.events().append(session.key(), new SessionEvent("upload.stored", actor, stored.facts()));
            return stored;
        } finally {
            taken.remove(name);
        }
    }

    /** Takes one away again, as what it came with has failed. */
    public void remove(Session session, Stored stored) {
        Workspace.of(session.sandbox()).files().remove(stored.path());
    }

    /** The first name that neither a file has nor an upload that is under way. */
    private Name take(SessionKey key, SandboxFiles files, String safe) {
        for (int number = 1; number <= MOST_TRIED; number++) {
            Name name = new Name(key, number == 1 ? safe : SafeName.numbered(safe, number));
            if (taken.add(name)) {
                if (!files.exists(FOLDER + name.name())) {
                    return name;
                }
                taken.remove(name);
            }
        }
        throw SandboxException.conflict("there are already " + MOST_TRIED + " uploads of this name; remove some of them"
                + ", or choose another name");
    }
}
