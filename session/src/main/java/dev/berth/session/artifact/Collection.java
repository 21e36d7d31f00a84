package dev.berth.session.artifact;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.SessionKey;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;

/**
 * Copies what is new in the folders of a session into the store, within bounds. A file that changes while it is copied is
 * left for later: half of one version and half of another is nothing that anybody made.
 */
final class Collection {
    private static final int MOST_ARTIFACTS = 100;
    private static final long MOST_BYTES = 1L << 30;
    private static final int MOST_NAMED = 5;
    /** In the place of what is not UTF-8; such a name leads nowhere. */
    private static final char NOT_UTF_8 = '\ufffd';

    /**
     * What came of it.
     *
     * @param settled files that need not be looked at again until they change
     */
    record Result(List<Artifact> artifacts, List<FileInfo> settled, Optional<String> note) {}

    private final ContentStore store;
    private final MediaTypes types;
    private final Duration retention;
    private final InstantSource clock;
    private final RandomGenerator random;
    /** Removes content that no row refers to, by tenant and hash. */
    private final BiConsumer<String, String> unused;

    private final List<Artifact> artifacts = new ArrayList<>();
    private final List<FileInfo> settled = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> tooLarge = new ArrayList<>();
    private final List<String> changing = new ArrayList<>();
    private final List<String> unreadable = new ArrayList<>();
    private int later;
    private long left = MOST_BYTES;

    Collection(
            ContentStore store,
            MediaTypes types,
            Duration retention,
            InstantSource clock,
            RandomGenerator random,
            BiConsumer<String, String> unused) {
        this.store = store;
        this.types = types;
        this.retention = retention;
        this.clock = clock;
        this.random = random;
        this.unused = unused;
    }

    Result run(SessionKey key, SandboxFiles workspace, FolderScan.Found found, Seen seen, Optional<String> callId) {
        try {
            for (FileInfo file : found.files()) {
                if (!seen.has(file)) {
                    take(key, workspace, file, callId);
                }
            }
        } catch (IOException e) {
            notes.add("the server could not keep more files: " + e.getMessage());
        }
        name(tooLarge, "larger than 1 GB, so not taken");
        name(unreadable, "a name that is not UTF-8, so not taken");
        name(changing, "still being written; taken after a call that finds it at rest");
        if (later > 0) {
            notes.add(later + " more files are taken after the next calls: " + MOST_ARTIFACTS
                    + " and 1 GB is what one call can bring");
        }
        if (found.full()) {
            notes.add("the artifact folders have more than " + FolderScan.MOST_LOOKED_AT
                    + " files; only some of them are looked at, so remove what nobody needs");
        }
        return new Result(
                artifacts, settled, notes.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", notes)));
    }

    /** Copies one file that somebody named. */
    Artifact one(SessionKey key, SandboxFiles files, String path, String callId) {
        FileInfo file = files.stat(path);
        if (file.type() != FileInfo.Type.FILE) {
            throw SandboxException.invalid(path + " is not a file; name a regular one, and no link");
        }
        try {
            take(key, files, file, Optional.of(callId));
        } catch (IOException e) {
            throw SandboxException.unavailable("the server could not keep " + path + ": " + e.getMessage(), e);
        }
        if (artifacts.isEmpty()) {
            throw SandboxException.invalid(
                    path + " is larger than 1 GB, is being written, or has a name that is not UTF-8");
        }
        return artifacts.getFirst();
    }

    private void name(List<String> files, String what) {
        if (!files.isEmpty()) {
            String more = files.size() > MOST_NAMED ? " and " + (files.size() - MOST_NAMED) + " more" : "";
            notes.add(String.join(", ", files.subList(0, Math.min(files.size(), MOST_NAMED))) + more + ": " + what);
        }
    }

    private void take(SessionKey key, SandboxFiles workspace, FileInfo file, Optional<String> callId)
            throws IOException {
        String name = SafeName.of(file.name());
        if (file.size() > MOST_BYTES) {
            tooLarge.add(name);
            settled.add(file);
        } else if (file.path().indexOf(NOT_UTF_8) >= 0) {
            unreadable.add(name);
            settled.add(file);
        } else if (artifacts.size() == MOST_ARTIFACTS || file.size() > left) {
            later++;
        } else {
            try {
                copy(key, workspace, file, name, callId);
            } catch (SandboxException e) {
                switch (e.code()) {
                    case NOT_FOUND, DENIED, INVALID -> {} // it is gone, or something else by now
                    default -> throw e;
                }
            }
        }
    }

    private void copy(SessionKey key, SandboxFiles workspace, FileInfo file, String name, Optional<String> callId)
            throws IOException {
        ContentStore.Stored stored;
        // One byte more than it had, to see that it has grown.
        try (InputStream content = workspace.read(file.path(), 0, file.size() + 1)) {
            stored = store.put(key.tenant(), content);
        }
        left -= stored.size();
        boolean same =
                FolderScan.look(workspace, file.path()).filter(file::equals).isPresent();
        if (!same || stored.size() != file.size()) {
            changing.add(name);
            unused.accept(key.tenant(), stored.sha256());
            return;
        }
        settled.add(file);
        artifacts.add(artifact(key, file, name, callId, stored));
    }

    private Artifact artifact(
            SessionKey key, FileInfo file, String name, Optional<String> callId, ContentStore.Stored stored) {
        String type = types.of(file.path(), stored.head());
        Optional<ImageSize> image = ImageSize.of(type, stored.head());
        Instant now = clock.instant().truncatedTo(ChronoUnit.MICROS); // as the database keeps it
        return new Artifact(
                id(),
                key,
                callId,
                name,
                file.path(),
                type,
                stored.size(),
                stored.sha256(),
                Artifact.Kind.of(type),
                image.map(size -> OptionalInt.of(size.width())).orElse(OptionalInt.empty()),
                image.map(size -> OptionalInt.of(size.height())).orElse(OptionalInt.empty()),
                Preview.of(type, stored.head()),
                now,
                now.plus(retention));
    }

    private String id() {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return "art_" + HexFormat.of().formatHex(bytes);
    }
}
