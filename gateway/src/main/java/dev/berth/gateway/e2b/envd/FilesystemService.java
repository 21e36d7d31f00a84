package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.BiConsumer;

/** {@code filesystem.Filesystem}, but for watching. What is made belongs to the user of the call; nothing else is refused him. */
final class FilesystemService {
    void methods(BiConsumer<String, Connect.Method> add) {
        add.accept("/filesystem.Filesystem/Stat", (Connect.Method.Unary) this::stat);
        add.accept("/filesystem.Filesystem/MakeDir", writing("makeDir", "path", this::makeDir));
        add.accept("/filesystem.Filesystem/Move", writing("move", "source", this::move));
        add.accept("/filesystem.Filesystem/ListDir", (Connect.Method.Unary) this::listDir);
        add.accept("/filesystem.Filesystem/Remove", writing("remove", "path", this::remove));
    }

    /** @param path of what the log is to show */
    private static Connect.Method writing(String what, String path, Connect.Method.Unary method) {
        return (Connect.Method.Unary) (visit, request) -> {
            visit.beforeWrite();
            long began = System.nanoTime();
            Object answer = method.answer(visit, request);
            visit.record(what, request.text(path), OptionalInt.empty(), Duration.ofNanos(System.nanoTime() - began));
            return answer;
        };
    }

    private Object stat(Visit visit, Message request) {
        String path = UserPath.of(visit.account(), request.text("path").orElse(""));
        return entry(visit, path);
    }

    private static Map<String, Object> entry(Visit visit, String path) {
        return Map.of("entry", new Entries(visit.sandbox()).of(path));
    }

    private Object makeDir(Visit visit, Message request) {
        Account account = visit.account();
        String path = UserPath.of(account, request.text("path").orElse(""));
        SandboxFiles files = visit.sandbox().files().as(account.name());
        try {
            FileInfo there = files.resolved(path);
            throw there.type() == FileInfo.Type.DIRECTORY
                    ? exists(path)
                    : ConnectError.invalid("path already exists but it is not a directory: " + path);
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
        }
        if (!files.makeDirectory(path)) {
            throw exists(path); // somebody was faster
        }
        return entry(visit, path);
    }

    private static ConnectError exists(String path) {
        return new ConnectError(ConnectCode.ALREADY_EXISTS, "directory already exists: " + path);
    }

    private Object move(Visit visit, Message request) {
        Account account = visit.account();
        String source = UserPath.of(account, request.text("source").orElse(""));
        String destination = UserPath.of(account, request.text("destination").orElse(""));
        SandboxFiles files = visit.sandbox().files().as(account.name());
        if (!files.exists(source)) {
            throw ConnectError.notFound("source file not found: " + source);
        }
        String clean = UserPath.clean(destination);
        files.makeDirectory(clean.substring(0, Math.max(1, clean.lastIndexOf('/'))));
        files.move(source, destination);
        return entry(visit, destination);
    }

    private Object listDir(Visit visit, Message request) {
        String path = UserPath.of(visit.account(), request.text("path").orElse(""));
        int depth = Math.max(1, request.number("depth").orElse(0));
        SandboxFiles files = visit.sandbox().files();
        FileInfo directory = directory(files, path);
        List<FileInfo> found = files.list(directory.path(), depth);
        String above = path.endsWith("/") ? path : path + "/";
        int cut = directory.path().equals("/") ? 1 : directory.path().length() + 1;
        Entries entries = new Entries(visit.sandbox());
        return Map.of(
                "entries",
                found.stream()
                        .map(info -> entries.of(above + info.path().substring(cut), info))
                        .toList());
    }

    /** The directory that a path leads to. */
    static FileInfo directory(SandboxFiles files, String path) {
        FileInfo directory;
        try {
            directory = files.resolved(path);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw ConnectError.notFound("directory not found: " + path);
            }
            throw e;
        }
        if (directory.type() != FileInfo.Type.DIRECTORY) {
            throw ConnectError.invalid("path is not a directory: " + path);
        }
        return directory;
    }

    private Object remove(Visit visit, Message request) {
        String path = UserPath.of(visit.account(), request.text("path").orElse(""));
        try {
            visit.sandbox().files().remove(path);
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
        }
        return Map.of();
    }
}
