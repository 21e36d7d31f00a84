package dev.berth.sandbox.local.store;

import dev.berth.sandbox.Change;
import dev.berth.sandbox.local.linux.Xattrs;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Tells what differs between two points of a sandbox.
 *
 * <p>Each point is an overlay: an upper directory of what was written, over the template. Only what stands in one of the
 * uppers can differ, so the cost is that of what was written, not of the whole filesystem. The marks of overlayfs are
 * honoured (see the kernel's filesystems/overlayfs): a character device 0/0 hides what is below, {@code opaque} hides
 * the rest of a directory, {@code redirect} names the place a renamed directory came from.
 *
 * <p>A directory that is gone is one change; what was in it is gone with it.
 */
public final class Changes {
    private static final String ATTRIBUTES = "unix:mode,size,lastModifiedTime,uid,gid,rdev";
    private static final int TYPE_MASK = 0170000;
    private static final int DIRECTORY = 0040000;
    private static final int CHARACTER_DEVICE = 0020000;
    private static final int LINK = 0120000;

    private final Path lowerRoot;
    private final List<Change> found = new ArrayList<>();

    private Changes(Path lowerRoot) {
        this.lowerRoot = lowerRoot;
    }

    /** Both uppers have to stand still meanwhile. */
    public static List<Change> between(Path earlierUpper, Path laterUpper, Path template) throws IOException {
        Changes changes = new Changes(template);
        Entry earlier = new Entry(Map.of(), earlierUpper, template);
        Entry later = new Entry(Map.of(), laterUpper, template);
        changes.compareChildren(earlier, later, "");
        return changes.found;
    }

    /** Something at one path at one point; a directory has an upper, a lower, or both. */
    private record Entry(
            Map<String, Object> attributes,
            @Nullable Path upper,
            @Nullable Path lower) {
        int type() {
            return (int) Objects.requireNonNull(attributes.get("mode")) & TYPE_MASK;
        }

        boolean directory() {
            return type() == DIRECTORY;
        }

        long size() {
            return directory() ? 0 : (long) Objects.requireNonNull(attributes.get("size"));
        }

        boolean sameOwnerAndMode(Entry other) {
            return Objects.equals(attributes.get("mode"), other.attributes.get("mode"))
                    && Objects.equals(attributes.get("uid"), other.attributes.get("uid"))
                    && Objects.equals(attributes.get("gid"), other.attributes.get("gid"));
        }

        boolean sameFile(Entry other) throws IOException {
            if (!sameOwnerAndMode(other)) {
                return false;
            }
            if (type() == LINK) {
                return Files.readSymbolicLink(path()).equals(Files.readSymbolicLink(other.path()));
            }
            return size() == other.size()
                    && Objects.equals(attributes.get("lastModifiedTime"), other.attributes.get("lastModifiedTime"));
        }

        private Path path() {
            return Objects.requireNonNull(upper == null ? lower : upper);
        }
    }

    private void compare(Optional<Entry> earlier, Optional<Entry> later, String path) throws IOException {
        if (later.isEmpty()) {
            if (earlier.isPresent()) {
                found.add(new Change(Change.Kind.DELETED, path, 0));
            }
            return;
        }
        Entry now = later.get();
        if (earlier.isEmpty()) {
            created(now, path);
            return;
        }
        Entry before = earlier.get();
        if (before.directory() && now.directory()) {
            if (!before.sameOwnerAndMode(now)) {
                found.add(new Change(Change.Kind.MODIFIED, path, 0));
            }
            compareChildren(before, now, path);
        } else if (before.directory() || now.directory()) {
            found.add(new Change(Change.Kind.DELETED, path, 0));
            created(now, path);
        } else if (!before.sameFile(now)) {
            found.add(new Change(Change.Kind.MODIFIED, path, now.size()));
        }
    }

    private void created(Entry entry, String path) throws IOException {
        found.add(new Change(Change.Kind.CREATED, path, entry.size()));
        if (entry.directory()) {
            Set<String> names = names(entry.upper);
            names.addAll(names(entry.lower));
            for (String name : names) {
                Optional<Entry> child = child(entry, name);
                if (child.isPresent()) {
                    created(child.get(), path + "/" + name);
                }
            }
        }
    }

    private void compareChildren(Entry earlier, Entry later, String path) throws IOException {
        Set<String> names = names(earlier.upper);
        names.addAll(names(later.upper));
        if (!Objects.equals(earlier.lower, later.lower)) {
            names.addAll(names(earlier.lower));
            names.addAll(names(later.lower));
        }
        for (String name : names) {
            compare(child(earlier, name), child(later, name), path + "/" + name);
        }
    }

    private Optional<Entry> child(Entry directory, String name) throws IOException {
        Path below = directory.lower == null ? null : directory.lower.resolve(name);
        if (directory.upper != null) {
            Path above = directory.upper.resolve(name);
            Optional<Map<String, Object>> attributes = attributes(above);
            if (attributes.isPresent()) {
                return upperChild(attributes.get(), above, below);
            }
        }
        if (below == null) {
            return Optional.empty();
        }
        return attributes(below).map(found -> new Entry(found, null, below));
    }

    private Optional<Entry> upperChild(Map<String, Object> attributes, Path above, @Nullable Path below)
            throws IOException {
        Entry entry = new Entry(attributes, above, null);
        boolean whiteout = entry.type() == CHARACTER_DEVICE && Objects.equals(attributes.get("rdev"), 0L);
        if (whiteout) {
            return Optional.empty();
        }
        if (!entry.directory() || Xattrs.get(above, "trusted.overlay.opaque").isPresent()) {
            return Optional.of(entry);
        }
        Path lower = Xattrs.get(above, "trusted.overlay.redirect")
                .map(target -> redirected(target, below))
                .orElse(below);
        boolean merged = lower != null && Files.isDirectory(lower, LinkOption.NOFOLLOW_LINKS);
        return Optional.of(new Entry(attributes, above, merged ? lower : null));
    }

    private @Nullable Path redirected(String target, @Nullable Path below) {
        if (target.startsWith("/")) {
            return lowerRoot.resolve(target.substring(1));
        }
        return below == null ? null : below.resolveSibling(target);
    }

    private static Optional<Map<String, Object>> attributes(Path path) throws IOException {
        try {
            return Optional.of(Files.readAttributes(path, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private static Set<String> names(@Nullable Path directory) throws IOException {
        Set<String> names = new TreeSet<>();
        if (directory != null) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                entries.forEach(entry -> names.add(entry.getFileName().toString()));
            }
        }
        return names;
    }
}
