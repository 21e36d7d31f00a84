package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The results of build steps: for each the files it changed, as the upper directory of an overlay left them.
 *
 * <p>A layer only makes sense on the very layers it was made on: the same step run a second time gives other files (newer
 * packages, say). So each run has an id of its own, a layer remembers that of its parent, and is found only on it. Used
 * under the build lock alone.
 */
final class LayerCache {
    private static final Duration KEPT_UNUSED = Duration.ofDays(30);
    private static final String DIFF = "diff";
    private static final String LABEL = "label";

    private final Path directory;
    private final Clock clock;

    /**
     * The result of one step.
     *
     * @param id of the run that made it
     * @param lower its files, relative to the directory of all layers
     */
    record Layer(String id, String lower) {}

    LayerCache(Path directory, Clock clock) throws IOException {
        this.directory = FileTree.privateDirectory(directory);
        this.clock = clock;
    }

    Path directory() {
        return directory;
    }

    Optional<Layer> find(String key, String parentId) throws IOException {
        Path label = directory.resolve(key).resolve(LABEL);
        try {
            List<String> lines = Files.readAllLines(label);
            if (lines.size() != 2 || !lines.getFirst().equals(parentId)) {
                return Optional.empty();
            }
            Files.setLastModifiedTime(label, FileTime.from(clock.instant()));
            return Optional.of(new Layer(lines.getLast(), key + "/" + DIFF));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Takes a finished directory of files over. The one that is there by this key, made on other layers, goes. */
    Layer keep(String key, String parentId, Path files, Path scratch) throws IOException {
        String id = UUID.randomUUID().toString();
        Path made = FileTree.privateDirectory(scratch.resolve("layer"));
        Files.move(files, made.resolve(DIFF), StandardCopyOption.ATOMIC_MOVE);
        Files.writeString(made.resolve(LABEL), parentId + "\n" + id + "\n");
        Disk.flush(made);
        FileTree.delete(directory.resolve(key));
        Files.move(made, directory.resolve(key), StandardCopyOption.ATOMIC_MOVE);
        return new Layer(id, key + "/" + DIFF);
    }

    void forget(String key) throws IOException {
        FileTree.delete(directory.resolve(key));
    }

    /** Removes what no build asked for in a month. */
    void forgetUnused() throws IOException {
        Instant oldest = clock.instant().minus(KEPT_UNUSED);
        try (var layers = Files.newDirectoryStream(directory)) {
            for (Path layer : layers) {
                Path label = layer.resolve(LABEL);
                if (!Files.exists(label)
                        || Files.getLastModifiedTime(label).toInstant().isBefore(oldest)) {
                    FileTree.delete(layer);
                }
            }
        }
    }
}
