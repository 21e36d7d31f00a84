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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

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

    /** Of all layers; what lies unused longest goes first. */
    private static final long MOST_BYTES = 20L << 30;

    private final Path directory;
    private final Clock clock;
    private final long mostBytes;

    /** What a layer says of itself. */
    private record Label(Path layer, String parentId, String id, long size, Instant used) {}

    /**
     * The result of one step.
     *
     * @param id of the run that made it
     * @param lower its files, relative to the directory of all layers
     */
    record Layer(String id, String lower) {}

    LayerCache(Path directory, Clock clock) throws IOException {
        this(directory, clock, MOST_BYTES);
    }

    LayerCache(Path directory, Clock clock, long mostBytes) throws IOException {
        this.mostBytes = mostBytes;
        this.directory = FileTree.privateDirectory(directory);
        this.clock = clock;
    }

    Path directory() {
        return directory;
    }

    Optional<Layer> find(String key, String parentId) throws IOException {
        Optional<Label> label = label(directory.resolve(key)).filter(found -> found.parentId.equals(parentId));
        if (label.isPresent()) {
            Files.setLastModifiedTime(label.get().layer.resolve(LABEL), FileTime.from(clock.instant()));
        }
        return label.map(found -> new Layer(found.id, key + "/" + DIFF));
    }

    /** Empty for what is no layer, or one of before sizes were written down. */
    private static Optional<Label> label(Path layer) throws IOException {
        Path file = layer.resolve(LABEL);
        try {
            List<String> lines = Files.readAllLines(file);
            return lines.size() == 3
                    ? Optional.of(new Label(
                            layer,
                            lines.get(0),
                            lines.get(1),
                            Long.parseLong(lines.get(2)),
                            Files.getLastModifiedTime(file).toInstant()))
                    : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Takes a finished directory of files over. The one that is there by this key, made on other layers, goes. */
    Layer keep(String key, String parentId, Path files, Path scratch) throws IOException {
        String id = UUID.randomUUID().toString();
        Path made = FileTree.privateDirectory(scratch.resolve("layer"));
        Files.move(files, made.resolve(DIFF), StandardCopyOption.ATOMIC_MOVE);
        Files.writeString(made.resolve(LABEL), parentId + "\n" + id + "\n" + FileTree.size(made.resolve(DIFF)) + "\n");
        Disk.flush(made);
        FileTree.delete(directory.resolve(key));
        Files.move(made, directory.resolve(key), StandardCopyOption.ATOMIC_MOVE);
        return new Layer(id, key + "/" + DIFF);
    }

    /** Removes what no build asked for in a month; and if that leaves too much, what was not asked for longest. */
    void forgetUnused() throws IOException {
        Instant oldest = clock.instant().minus(KEPT_UNUSED);
        List<Label> kept = new ArrayList<>();
        try (var layers = Files.newDirectoryStream(directory)) {
            for (Path layer : layers) {
                Optional<Label> label = label(layer).filter(found -> !found.used.isBefore(oldest));
                if (label.isPresent()) {
                    kept.add(label.get());
                } else {
                    FileTree.delete(layer);
                }
            }
        }
        long bytes = kept.stream().mapToLong(Label::size).sum();
        while (bytes > mostBytes) {
            Label doomed = leastUsed(kept);
            FileTree.delete(doomed.layer);
            kept.remove(doomed);
            bytes -= doomed.size;
        }
    }

    /** Of those that no other one lies on, as without what is below it a layer is of no use. */
    private static Label leastUsed(List<Label> layers) {
        Set<String> below = layers.stream().map(Label::parentId).collect(Collectors.toSet());
        return layers.stream()
                .filter(layer -> !below.contains(layer.id))
                .min(Comparator.comparing(Label::used))
                .orElseThrow();
    }
}
