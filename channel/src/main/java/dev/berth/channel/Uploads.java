package dev.berth.channel;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.artifact.SafeName;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts the files that come with messages into the workspace, as they are: what is packed stays packed. */
final class Uploads {
    private static final Logger LOG = LoggerFactory.getLogger(Uploads.class);
    private static final String FOLDER = "uploads/";
    private static final int MOST_TRIED = 1000;

    private record Name(SessionKey key, String path) {}

    private final Parts parts;
    /** Of files that are being written, which cannot be seen in the workspace yet. */
    private final Set<Name> taken = ConcurrentHashMap.newKeySet();

    Uploads(Parts parts) {
        this.parts = parts;
    }

    /** Stores one. What goes wrong is in the result, as the message is worth something without it. */
    MessageTable.Given store(Session session, Incoming.Attachment attachment, String name, String actor) {
        try {
            if (attachment.size() > parts.config().attachmentBytes()) {
                throw Counted.tooLarge(parts.config().attachmentBytes());
            }
            return new MessageTable.Given(name, write(session, attachment, actor), null);
        } catch (SandboxException | IOException | UncheckedIOException e) {
            LOG.atWarn()
                    .addKeyValue("tenant", session.key().tenant())
                    .addKeyValue("session", session.key().id())
                    .addKeyValue("error", e.getMessage())
                    .log("channel.upload.failed");
            return new MessageTable.Given(name, null, reason(e));
        }
    }

    /** What our own errors say is for people; what a service answered may have a token in it. */
    private static String reason(Exception e) {
        if (e instanceof SandboxException known && known.getCause() == null) {
            return known.getMessage();
        }
        return "it could not be fetched";
    }

    private String write(Session session, Incoming.Attachment attachment, String actor) throws IOException {
        SandboxFiles all = session.sandbox().files();
        String workspace = all.named(parts.config().workspace());
        all.makeDirectory(workspace);
        SandboxFiles files = all.within(workspace);
        Name name = take(session.key(), files, SafeName.of(attachment.name()));
        try (InputStream opened = attachment.open();
                Counted content = new Counted(opened, parts.config().attachmentBytes())) {
            session.beforeWrite();
            files.write(name.path(), content);
            parts.sessions()
                    .events()
                    .append(
                            session.key(),
                            SessionEvent.of("upload.stored")
                                    .by(actor)
                                    .with("path", name.path())
                                    .with("size", content.count()));
            return name.path();
        } finally {
            taken.remove(name);
        }
    }

    private Name take(SessionKey key, SandboxFiles files, String safe) {
        for (int number = 1; number <= MOST_TRIED; number++) {
            Name name = new Name(key, FOLDER + (number == 1 ? safe : SafeName.numbered(safe, number)));
            if (taken.add(name)) {
                if (!files.exists(name.path())) {
                    return name;
                }
                taken.remove(name);
            }
        }
        throw SandboxException.conflict("there are too many files of this name already; give it another one");
    }
}
