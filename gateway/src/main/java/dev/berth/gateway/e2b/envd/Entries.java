package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Files as E2B describes them, {@code EntryInfo}. For one answer: the names of owners are looked up once. */
final class Entries {
    /** What our own attributes of a file begin with, behind the kernel's {@code user.}. */
    static final String ATTRIBUTE = "e2b.";

    private static final int PERMISSIONS = 0777;

    private final Sandbox sandbox;
    private final Map<Integer, String> users = new HashMap<>();
    private final Map<Integer, String> groups = new HashMap<>();

    Entries(Sandbox sandbox) {
        this.sandbox = sandbox;
    }

    /** @throws ConnectError {@code not_found} if there is nothing at the path */
    Map<String, Object> of(String path) {
        try {
            return of(path, sandbox.files().stat(path));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw ConnectError.notFound("file not found: lstat " + path + ": no such file or directory");
            }
            throw e;
        }
    }

    /** As {@link #of(String)}, or nothing if it is gone. */
    Optional<Map<String, Object>> find(String path) {
        try {
            return Optional.of(of(path, sandbox.files().stat(path)));
        } catch (SandboxException e) {
            return Optional.empty();
        }
    }

    /**
     * Of a link, kind and mode are those of what it leads to, and everything else is its own.
     *
     * @param path as it is to be seen
     */
    Map<String, Object> of(String path, FileInfo info) {
        Optional<FileInfo> target = info.type() == FileInfo.Type.LINK ? target(info.path()) : Optional.empty();
        FileInfo shown = target.orElse(info);
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("name", UserPath.name(path));
        entry.put("type", type(shown.type()));
        entry.put("path", path);
        entry.put("size", Long.toString(info.size()));
        entry.put("mode", shown.mode() & PERMISSIONS);
        entry.put("permissions", FileMode.of(info.type(), info.mode()));
        entry.put(
                "owner",
                users.computeIfAbsent(info.uid(), uid -> sandbox.userName(uid).orElseGet(() -> Integer.toString(uid))));
        entry.put(
                "group",
                groups.computeIfAbsent(
                        info.gid(), gid -> sandbox.groupName(gid).orElseGet(() -> Integer.toString(gid))));
        entry.put("modifiedTime", info.modifiedAt().toString());
        target.ifPresent(found -> entry.put("symlinkTarget", found.path()));
        Map<String, String> metadata = metadata(shown);
        if (!metadata.isEmpty()) {
            entry.put("metadata", metadata);
        }
        return entry;
    }

    private Optional<FileInfo> target(String path) {
        try {
            return Optional.of(sandbox.files().resolved(path));
        } catch (SandboxException e) {
            return Optional.empty(); // a link to nothing, or in a circle
        }
    }

    private static String type(FileInfo.Type type) {
        return switch (type) {
            case FILE -> "FILE_TYPE_FILE";
            case DIRECTORY -> "FILE_TYPE_DIRECTORY";
            case LINK, OTHER -> "FILE_TYPE_UNSPECIFIED";
        };
    }

    /** What was said of the file when it was written. A file that nobody may be told of has none. */
    private Map<String, String> metadata(FileInfo info) {
        Map<String, String> metadata = new LinkedHashMap<>();
        if (info.type() == FileInfo.Type.FILE || info.type() == FileInfo.Type.DIRECTORY) {
            try {
                sandbox.files().attributes(info.path()).forEach((name, value) -> {
                    if (name.startsWith(ATTRIBUTE)) {
                        metadata.put(name.substring(ATTRIBUTE.length()), value);
                    }
                });
            } catch (SandboxException e) {
                return Map.of(); // it went away meanwhile, or its file system has no attributes
            }
        }
        return metadata;
    }
}
