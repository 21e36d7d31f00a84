package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.Account;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.time.Duration;
import java.util.AbstractList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import tools.jackson.databind.node.ObjectNode;

/** {@code POST /files/compose}: makes one file of several, which are gone then. */
final class Compose {
    private Compose() {}

    static void answer(Visit visit) {
        ObjectNode json = visit.call().json();
        Message request = new Message(json);
        List<String> asked;
        Optional<String> to;
        Optional<String> username;
        try {
            asked = request.texts("source_paths");
            to = request.text("destination").filter(text -> !text.isEmpty());
            username = request.text("username");
        } catch (ConnectError e) {
            throw new E2bError(400, "invalid request body: " + e.getMessage());
        }
        if (asked.isEmpty()) {
            throw new E2bError(400, "source_paths must not be empty");
        }
        Account account = FileUser.of(visit, username);
        String destination = FileUser.path(account, to.orElseThrow(() -> new E2bError(400, "destination is required")));
        SandboxFiles files = visit.sandbox().files().as(account.name());
        List<String> sources = asked.stream()
                .map(source -> source(files, account, source, destination))
                .toList();
        visit.beforeWrite();
        long began = System.nanoTime();
        try {
            files.write(destination, content(files, sources));
            Set<String> each = new LinkedHashSet<>(sources);
            each.forEach(files::remove);
        } catch (SandboxException e) {
            throw Upload.failed(destination, e);
        }
        visit.record(
                "write", Optional.of(destination), OptionalInt.empty(), Duration.ofNanos(System.nanoTime() - began));
        visit.call().answer(200, Upload.entry(destination));
    }

    private static String source(SandboxFiles files, Account account, String asked, String destination) {
        String path = FileUser.path(account, asked);
        if (UserPath.clean(path).equals(UserPath.clean(destination))) {
            throw new E2bError(400, "source path \"" + asked + "\" cannot be the same as destination");
        }
        FileInfo file;
        try {
            file = files.resolved(path);
        } catch (SandboxException e) {
            throw new E2bError(404, "source file not found: " + asked);
        }
        if (file.type() != FileInfo.Type.FILE) {
            throw new E2bError(400, "source path is not a regular file: " + asked);
        }
        return path;
    }

    /** One after the other, each opened when it is its turn. */
    private static InputStream content(SandboxFiles files, List<String> sources) {
        return new SequenceInputStream(Collections.enumeration(new AbstractList<>() {
            @Override
            public InputStream get(int index) {
                return files.read(sources.get(index));
            }

            @Override
            public int size() {
                return sources.size();
            }
        }));
    }
}
