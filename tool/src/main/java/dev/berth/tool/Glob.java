package dev.berth.tool;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * Finds files by the pattern of their path, see {@link GlobPattern}. Directories are no results, links are neither
 * results nor followed.
 *
 * @param pattern relative to {@code path}; {@code *.py} are files right there, {@code **}{@code /*.py} also those deeper
 * @param path the directory to look in, relative to the workspace
 * @param exclude patterns of what to leave out, with all below it; one without a slash means a name anywhere
 * @param includeHidden whether wildcards match names that begin with a dot
 */
public record Glob(
        String pattern, String path, List<String> exclude, boolean includeHidden, int limit, int offset, Sort sort) {
    public static final int DEFAULT_LIMIT = 100;
    public static final int MOST_RESULTS = 10_000;

    static final int MOST_VISITED = 200_000;
    private static final Duration LONGEST = Duration.ofSeconds(20);

    public Glob {
        path = Workspace.path(path);
        exclude = List.copyOf(exclude);
        if (limit < 1 || limit > MOST_RESULTS) {
            throw SandboxException.invalid("the limit has to be 1 to " + MOST_RESULTS + " files, not " + limit);
        }
        if (offset < 0) {
            throw SandboxException.invalid("the offset has to be 0 or more, not " + offset);
        }
    }

    /** What comes first. */
    public enum Sort {
        /** The newest file. */
        MTIME,
        PATH;

        public static Sort parse(String name) {
            return switch (name) {
                case "mtime" -> MTIME;
                case "path" -> PATH;
                default ->
                    throw SandboxException.invalid(
                            "there is no order '" + Texts.cut(name, 50) + "'; use mtime or path");
            };
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public static Glob of(String pattern) {
        return new Glob(pattern, Workspace.TOP, List.of(), false, DEFAULT_LIMIT, 0, Sort.MTIME);
    }

    /**
     * One file.
     *
     * @param path relative to the workspace, as the other tools take it
     */
    public record Match(String path, long size, Instant modifiedAt) {}

    /**
     * What was found.
     *
     * @param total how many files match, with those before and behind this page
     * @param truncated whether the workspace was too large to be looked through, so that some may be missing
     * @param nextOffset where to go on
     */
    public record Found(List<Match> files, int total, boolean truncated, OptionalInt nextOffset) {}

    public Found run(Workspace workspace) {
        Walk walk = new Walk(workspace);
        walk.run();
        List<Match> all = walk.matches;
        Comparator<Match> byPath = Comparator.comparing(Match::path);
        all.sort(
                switch (sort) {
                    case PATH -> byPath;
                    case MTIME ->
                        Comparator.comparing(Match::modifiedAt).reversed().thenComparing(byPath);
                });
        int from = Math.min(offset, all.size());
        int to = (int) Math.min((long) from + limit, all.size());
        return new Found(
                List.copyOf(all.subList(from, to)),
                all.size(),
                walk.truncated,
                to < all.size() ? OptionalInt.of(to) : OptionalInt.empty());
    }

    /** A directory to look at, and what of the patterns can match in it. */
    private record Directory(String path, long[] wanted, long[] unwanted) {}

    private final class Walk {
        private final Workspace workspace;
        private final GlobPattern wanted = GlobPattern.parse(pattern);
        private final GlobPattern unwanted = GlobPattern.anyOf(exclude);
        private final Deque<Directory> waiting = new ArrayDeque<>();
        private final List<Match> matches = new ArrayList<>();
        private final long deadline = System.nanoTime() + LONGEST.toNanos();
        private int visited;
        private boolean truncated;

        Walk(Workspace workspace) {
            this.workspace = workspace;
        }

        void run() {
            Directory top = new Directory(path, wanted.start(), unwanted.start());
            look(top, workspace.files().list(path, 1));
            for (Directory next = waiting.poll(); next != null; next = waiting.poll()) {
                look(next, list(next.path));
            }
        }

        /** What vanishes or turns into something else meanwhile has nothing in it. */
        private List<FileInfo> list(String directory) {
            try {
                return workspace.files().list(directory, 1);
            } catch (SandboxException e) {
                switch (e.code()) {
                    case NOT_FOUND, INVALID, DENIED -> {}
                    case LIMIT -> truncated = true;
                    default -> throw e;
                }
                return List.of();
            }
        }

        private void look(Directory in, List<FileInfo> entries) {
            for (FileInfo entry : entries) {
                if (++visited > MOST_VISITED || System.nanoTime() > deadline) {
                    truncated = true;
                    waiting.clear();
                    return;
                }
                look(in, entry);
            }
        }

        private void look(Directory in, FileInfo entry) {
            boolean directory = entry.type() == FileInfo.Type.DIRECTORY;
            if (!directory && entry.type() != FileInfo.Type.FILE) {
                return;
            }
            long[] reached = wanted.step(in.wanted, entry.name(), includeHidden);
            if (directory ? !wanted.canMatchBelow(reached) : !wanted.matches(reached)) {
                return;
            }
            long[] excluded = unwanted.step(in.unwanted, entry.name(), true);
            if (unwanted.matches(excluded)) {
                return;
            }
            if (directory) {
                waiting.add(new Directory(entry.path(), reached, excluded));
            } else {
                matches.add(new Match(entry.path(), entry.size(), entry.modifiedAt()));
            }
        }
    }
}
