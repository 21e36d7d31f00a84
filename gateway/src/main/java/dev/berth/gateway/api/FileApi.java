package dev.berth.gateway.api;

import dev.berth.gateway.api.Calls.Access;
import dev.berth.gateway.api.Calls.Call;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.tool.Workspace;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Whole files as they are, streamed: of any size, in constant memory. */
public final class FileApi {
    private static final int BUFFER = 256 << 10;

    private final Calls calls;

    public FileApi(Calls calls) {
        this.calls = calls;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("download", this::download, "upload", this::upload);
    }

    private static SessionKey key(Exchange exchange) {
        return SessionApi.key(
                exchange.caller(),
                exchange.query("tenant_id"),
                exchange.query("session_id").orElseThrow());
    }

    private Answer download(Exchange exchange) {
        String path = Workspace.path(exchange.query("path").orElseThrow());
        Session session = calls.open(key(exchange), new Call(exchange, "download", Optional.empty(), Access.READ));
        boolean handedOver = false;
        try {
            Workspace workspace = Workspace.of(session.sandbox());
            InputStream content = workspace.files().read(path);
            FileInfo info = workspace.files().stat(path);
            // A link's own size is not that of what it leads to.
            OptionalLong length =
                    info.type() == FileInfo.Type.FILE ? OptionalLong.of(info.size()) : OptionalLong.empty();
            handedOver = true;
            return new Answer.Stream(
                    "application/octet-stream", length, Map.of(), new Download(session, content, length));
        } finally {
            if (!handedOver) {
                session.close();
            }
        }
    }

    /** Never more than was promised, whatever the sandbox writes meanwhile. */
    private record Download(Session session, InputStream content, OptionalLong length) implements Answer.Writer {
        @Override
        public void write(OutputStream out) throws IOException {
            byte[] buffer = new byte[BUFFER];
            long left = length.orElse(Long.MAX_VALUE);
            while (left > 0) {
                int n = content.read(buffer, 0, (int) Math.min(buffer.length, left));
                if (n < 0) {
                    if (length.isPresent()) {
                        throw new IOException("the file became shorter while it was read");
                    }
                    return;
                }
                out.write(buffer, 0, n);
                left -= n;
            }
        }

        @Override
        public void close() {
            try (session) {
                content.close();
            } catch (IOException e) {
                throw SandboxException.unavailable("could not close a file", e);
            }
        }
    }

    private Answer upload(Exchange exchange) {
        String path = Workspace.path(exchange.query("path").orElseThrow());
        if (path.equals(Workspace.TOP)) {
            throw SandboxException.invalid("the path is the workspace itself; name a file in it");
        }
        Call call = new Call(exchange, "upload", Optional.empty(), Access.WRITE);
        long size = calls.in(key(exchange), calls.defaults(), call, session -> store(exchange, session, path), _ -> 0)
                .value();
        return Answer.ok(Map.of("path", path, "bytes_written", size));
    }

    private static long store(Exchange exchange, Session session, String path) {
        Workspace workspace = Workspace.of(session.sandbox());
        workspace.files().write(path, exchange.stream());
        return workspace.files().stat(path).size();
    }
}
