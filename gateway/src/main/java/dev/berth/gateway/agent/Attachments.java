package dev.berth.gateway.agent;

import dev.berth.gateway.api.Uploads;
import dev.berth.gateway.api.Uploads.Stored;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files that come with one message. They are stored as they come, which is before it is known whether the message is
 * one; unless they are {@linkplain #keep kept} they are gone afterwards. For one thread.
 */
final class Attachments implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Attachments.class);
    private static final int MOST = 100;

    private final Uploads uploads;
    private final Supplier<Session> sessions;
    private final String actor;
    private final List<Stored> stored = new ArrayList<>();
    private @Nullable Session session;
    private boolean kept;

    /** @param sessions brings the session up, which is only done for a file */
    Attachments(Uploads uploads, Supplier<Session> sessions, String actor) {
        this.uploads = uploads;
        this.sessions = sessions;
        this.actor = actor;
    }

    void add(String name, InputStream content) {
        if (stored.size() >= MOST) {
            throw SandboxException.invalid(
                    "a message comes with " + MOST + " files at most; pack them into an archive");
        }
        if (session == null) {
            session = sessions.get();
            session.beforeWrite();
        }
        stored.add(uploads.store(session, name, content, actor));
    }

    /** In the workspace. */
    List<String> paths() {
        return stored.stream().map(Stored::path).toList();
    }

    void keep() {
        kept = true;
    }

    @Override
    public void close() {
        if (session == null) {
            return;
        }
        try (Session up = session) {
            if (!kept) {
                stored.forEach(file -> uploads.remove(up, file));
            }
        } catch (SandboxException e) {
            // What went wrong before is what has to be told.
            LOG.atWarn().addKeyValue("error", e.getMessage()).log("attachments.left");
        }
    }
}
