package dev.berth.gateway.e2b;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.eclipse.jetty.http.HttpHeader;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** What is in a volume. All paths begin at the volume's root. */
final class VolumeContent {
    private static final int FILE_MODE = 0644;
    private static final int DIRECTORY_MODE = 0755;
    private static final int MOST_MODE = 07777;
    private static final int MOST_ID = 65_535;
    private static final int DEEPEST = 100;
    private static final int NO_SPACE = 507;

    private VolumeContent() {}

    static void list(SandboxFiles files, Call call) {
        String path = path(call);
        int depth = number(call, "depth", 1, DEEPEST).orElse(1);
        if (find(files, path).filter(info -> info.type() == FileInfo.Type.FILE).isPresent()) {
            throw missing(path);
        }
        call.answer(
                200, files.list(path, depth).stream().map(VolumeContent::show).toList());
    }

    static void makeDirectory(SandboxFiles files, Call call) {
        String path = path(call);
        boolean force = force(call);
        Optional<FileInfo> there = find(files, path);
        if (there.isPresent()) {
            if (!force || there.get().type() != FileInfo.Type.DIRECTORY) {
                throw exists(path);
            }
            call.answer(201, show(there.get()));
            return;
        }
        if (!force) {
            requireParent(files, path);
        }
        files.makeDirectory(path);
        own(files, path, call, DIRECTORY_MODE);
        call.answer(201, show(files.stat(path)));
    }

    static void stat(SandboxFiles files, Call call) {
        call.answer(200, show(files.stat(path(call))));
    }

    static void change(SandboxFiles files, Call call) {
        String path = path(call);
        ObjectNode body = call.json();
        FileInfo before = files.stat(path);
        OptionalInt uid = number(body, "uid", MOST_ID);
        OptionalInt gid = number(body, "gid", MOST_ID);
        OptionalInt mode = number(body, "mode", MOST_MODE);
        if (uid.isPresent() || gid.isPresent()) {
            files.chown(path, uid.orElse(before.uid()), gid.orElse(before.gid()));
        }
        if (mode.isPresent()) {
            files.chmod(path, mode.getAsInt());
        }
        call.answer(200, show(files.stat(path)));
    }

    static void remove(SandboxFiles files, Call call) {
        String path = path(call);
        if (path.equals("/")) {
            throw missing(path);
        }
        files.remove(path);
        call.answer(204);
    }

    static void read(SandboxFiles files, Call call) throws IOException {
        String path = path(call);
        FileInfo info = files.resolved(path);
        if (info.type() != FileInfo.Type.FILE) {
            throw missing(path);
        }
        try (InputStream in = files.read(path, 0, info.size())) {
            call.response().getHeaders().put(HttpHeader.CONTENT_LENGTH, info.size());
            try (OutputStream out = call.stream(200, "application/octet-stream")) {
                in.transferTo(out);
            }
        }
    }

    static void write(SandboxFiles files, Call call) {
        String path = path(call);
        Optional<FileInfo> there = find(files, path);
        if (there.isPresent() && (there.get().type() == FileInfo.Type.DIRECTORY || !force(call))) {
            throw exists(path);
        }
        requireParent(files, path);
        try {
            files.write(path, call.body(), number(call, "mode", 0, MOST_MODE).orElse(FILE_MODE));
        } catch (SandboxException e) {
            throw e.code() == ErrorCode.LIMIT ? new E2bError(NO_SPACE, String.valueOf(e.getMessage())) : e;
        }
        own(files, path, call, FILE_MODE);
        call.answer(201, show(files.stat(path)));
    }

    private static void own(SandboxFiles files, String path, Call call, int usualMode) {
        files.chown(
                path,
                number(call, "uid", 0, MOST_ID).orElse(0),
                number(call, "gid", 0, MOST_ID).orElse(0));
        // Afterwards: a new owner takes special bits away.
        files.chmod(path, number(call, "mode", 0, MOST_MODE).orElse(usualMode));
    }

    private static void requireParent(SandboxFiles files, String path) {
        String parent = path.substring(0, Math.max(1, path.lastIndexOf('/')));
        Optional<FileInfo> found = parent.equals("/") ? Optional.of(files.stat("/")) : resolved(files, parent);
        if (found.filter(info -> info.type() == FileInfo.Type.DIRECTORY).isEmpty()) {
            throw missing(parent);
        }
    }

    private static Optional<FileInfo> find(SandboxFiles files, String path) {
        return files.exists(path) ? Optional.of(files.stat(path)) : Optional.empty();
    }

    private static Optional<FileInfo> resolved(SandboxFiles files, String path) {
        try {
            return Optional.of(files.resolved(path));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static Map<String, Object> show(FileInfo info) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("name", info.name());
        shown.put("path", info.path());
        shown.put(
                "type",
                switch (info.type()) {
                    case FILE -> "file";
                    case DIRECTORY -> "directory";
                    case LINK -> "symlink";
                    case OTHER -> "unknown";
                });
        shown.put("size", info.size());
        shown.put("mode", info.mode());
        shown.put("uid", info.uid());
        shown.put("gid", info.gid());
        String time = info.modifiedAt().toString();
        shown.put("atime", time);
        shown.put("mtime", time);
        shown.put("ctime", time);
        info.linkTarget().ifPresent(target -> shown.put("target", target));
        return shown;
    }

    private static String path(Call call) {
        String path = ("/" + call.query("path").orElse("").strip()).replaceAll("/+", "/");
        return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }

    private static boolean force(Call call) {
        return call.query("force").filter("true"::equals).isPresent();
    }

    private static OptionalInt number(Call call, String name, int least, int most) {
        Optional<String> text = call.query(name);
        if (text.isEmpty()) {
            return OptionalInt.empty();
        }
        int number = text.get().matches("[0-9]{1,9}") ? Integer.parseInt(text.get()) : -1;
        if (number < least || number > most) {
            throw new E2bError(400, name + " must be a number from " + least + " to " + most);
        }
        return OptionalInt.of(number);
    }

    private static OptionalInt number(ObjectNode body, String name, int most) {
        JsonNode value = body.path(name);
        if (value.isMissingNode() || value.isNull()) {
            return OptionalInt.empty();
        }
        if (!value.isIntegralNumber() || value.asLong(-1) < 0 || value.asLong(-1) > most) {
            throw new E2bError(400, name + " must be a number from 0 to " + most);
        }
        return OptionalInt.of(value.asInt());
    }

    private static E2bError missing(String path) {
        return new E2bError(404, "Path " + path + " not found");
    }

    private static E2bError exists(String path) {
        return new E2bError(409, "Path " + path + " already exists");
    }
}
