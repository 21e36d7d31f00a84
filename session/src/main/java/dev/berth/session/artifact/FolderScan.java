package dev.berth.session.artifact;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds the files in the artifact folders of one sandbox. Links are not followed, names that begin with a dot are left
 * alone, and what is neither file nor folder is passed over. This is on the way of every call: where there is no folder it
 * costs one look.
 */
final class FolderScan {
    static final int MOST_LOOKED_AT = 1000;
    private static final int MOST_REMEMBERED = 32;

    private static final int ENORMOUS = 10_000;

    /** Enormous folders, and when they last got or lost an entry: until they do again nobody lists them. */
    private final Map<String, Instant> passedOver = new ConcurrentHashMap<>();

    /**
     * What was found.
     *
     * @param files in the order of the folders
     * @param full whether there is more than is looked at
     */
    record Found(List<FileInfo> files, boolean full) {}

    /** One walk through the folders. */
    private final class Walk {
        private final SandboxFiles workspace;
        private final List<FileInfo> files = new ArrayList<>();
        private final Set<String> visited = new HashSet<>();
        private final Deque<String> waiting = new ArrayDeque<>();
        private int looked;
        private boolean full;

        Walk(SandboxFiles workspace) {
            this.workspace = workspace;
        }

        void folder(String folder) {
            waiting.add(folder);
            for (String next = waiting.poll(); next != null && !full; next = waiting.poll()) {
                if (visited.add(next)) {
                    list(next);
                }
            }
        }

        private void list(String folder) {
            Optional<FileInfo> self = look(workspace, folder);
            if (self.isEmpty() || self.get().type() != FileInfo.Type.DIRECTORY) {
                return;
            }
            if (self.get().modifiedAt().equals(passedOver.get(folder))) {
                return;
            }
            for (FileInfo entry : entries(folder, self.get().modifiedAt())) {
                if (looked++ == MOST_LOOKED_AT) {
                    full = true;
                    return;
                }
                if (!entry.name().startsWith(".")) {
                    switch (entry.type()) {
                        case FILE -> files.add(entry);
                        case DIRECTORY -> waiting.add(entry.path());
                        case LINK, OTHER -> {}
                    }
                }
            }
        }

        private List<FileInfo> entries(String folder, Instant modifiedAt) {
            List<FileInfo> entries;
            try {
                entries = workspace.list(folder, 1);
            } catch (SandboxException e) {
                return e.code() == ErrorCode.LIMIT ? passOver(folder, modifiedAt) : absent(e);
            }
            return entries.size() > ENORMOUS ? passOver(folder, modifiedAt) : entries;
        }

        private List<FileInfo> passOver(String folder, Instant modifiedAt) {
            full = true;
            if (passedOver.size() >= MOST_REMEMBERED) {
                passedOver.clear();
            }
            passedOver.put(folder, modifiedAt);
            return List.of();
        }
    }

    Found find(SandboxFiles workspace, List<String> folders) {
        Walk walk = new Walk(workspace);
        Set<String> absent = new HashSet<>();
        for (String folder : folders) {
            String top = folder.contains("/") ? folder.substring(0, folder.indexOf('/')) : folder;
            if (!absent.contains(top)) {
                if (look(workspace, top).isEmpty()) {
                    absent.add(top);
                } else {
                    walk.folder(folder);
                }
            }
        }
        return new Found(walk.files, walk.full);
    }

    static Optional<FileInfo> look(SandboxFiles workspace, String path) {
        try {
            return Optional.of(workspace.stat(path));
        } catch (SandboxException e) {
            absent(e);
            return Optional.empty();
        }
    }

    /** What is not there, what vanishes and what leads outside is all the same here: nothing. */
    private static List<FileInfo> absent(SandboxException e) {
        return switch (e.code()) {
            case NOT_FOUND, DENIED, INVALID -> List.of();
            default -> throw e;
        };
    }
}
