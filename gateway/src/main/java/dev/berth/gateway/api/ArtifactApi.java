package dev.berth.gateway.api;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifact;
import dev.berth.session.artifact.Artifacts;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** What runs left for people to see. */
public final class ArtifactApi {
    private static final int PAGE = 100;
    private static final int BUFFER = 256 << 10;

    private final Artifacts artifacts;
    private final Sessions sessions;

    public ArtifactApi(Artifacts artifacts, Sessions sessions) {
        this.artifacts = artifacts;
        this.sessions = sessions;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "artifacts", this::list,
                "artifact", exchange -> Answer.ok(show(known(exchange))),
                "removeArtifact", this::remove,
                "artifactContent", exchange -> content(exchange, true),
                "artifactContentHead", exchange -> content(exchange, false));
    }

    /** Of another tenant nothing is told, not even that it is there. */
    private Artifact known(Exchange exchange) {
        Caller caller = exchange.caller();
        return artifacts
                .find(exchange.path("artifact_id"))
                .filter(artifact ->
                        caller.admin() || artifact.session().tenant().equals(caller.tenant()))
                .orElseThrow(ArtifactApi::unknown);
    }

    private static SandboxException unknown() {
        return SandboxException.notFound(
                "there is no such artifact; it may have been removed, or its time may be over");
    }

    private Answer list(Exchange exchange) {
        SessionKey key = SessionApi.key(exchange);
        if (sessions.find(key).isEmpty()) { // one that was deleted is still known, and so are its artifacts
            throw SessionApi.unknown();
        }
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(PAGE);
        List<Artifact> found = artifacts.list(key, exchange.query("before"), limit + 1);
        return Answer.ok(Map.of(
                "artifacts",
                found.stream().limit(limit).map(ArtifactApi::show).toList(),
                "more",
                found.size() > limit));
    }

    static Map<String, Object> show(Artifact artifact) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("artifact_id", artifact.id());
        shown.put("session_id", artifact.session().id());
        artifact.callId().ifPresent(call -> shown.put("call_id", call));
        shown.put("name", artifact.name());
        shown.put("path", artifact.path());
        shown.put("mime_type", artifact.mimeType());
        shown.put("size", artifact.size());
        shown.put("sha256", artifact.sha256());
        shown.put("kind", artifact.kind().toString());
        artifact.width().ifPresent(width -> shown.put("width", width));
        artifact.height().ifPresent(height -> shown.put("height", height));
        artifact.preview().ifPresent(preview -> shown.put("preview", preview));
        shown.put("url", "/v1/artifacts/" + artifact.id() + "/content");
        shown.put("created_at", artifact.createdAt());
        shown.put("expires_at", artifact.expiresAt());
        return shown;
    }

    private Answer remove(Exchange exchange) {
        if (!artifacts.remove(known(exchange), exchange.caller().name())) {
            throw unknown();
        }
        return Answer.done();
    }

    // ---- the bytes -----------------------------------------------------------------------------------------------

    private Answer content(Exchange exchange, boolean body) {
        Artifact artifact = known(exchange);
        String tag = '"' + artifact.sha256() + '"';
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("ETag", tag);
        headers.put("Accept-Ranges", "bytes");
        headers.put("Content-Disposition", Attachment.header(artifact.name()));
        headers.put("X-Content-Type-Options", "nosniff");
        headers.put("Content-Security-Policy", "sandbox; default-src 'none'");
        headers.put("Cache-Control", "private");
        if (exchange.header("If-None-Match").filter(tag::equals).isPresent()) {
            return new Answer.Stream(304, artifact.mimeType(), OptionalLong.empty(), headers, _ -> {});
        }
        boolean same = exchange.header("If-Range").map(tag::equals).orElse(true);
        Optional<ByteRange> asked =
                same && body ? exchange.header("Range").flatMap(ByteRange::parse) : Optional.empty();
        if (asked.isEmpty()) {
            return stream(artifact, 200, new ByteRange.Part(0, artifact.size()), headers, body);
        }
        Optional<ByteRange.Part> part = asked.get().of(artifact.size());
        if (part.isEmpty()) {
            return new Answer.Failure(
                    416,
                    "invalid",
                    "this artifact has " + artifact.size() + " bytes, and the range has none of them",
                    Map.of("Content-Range", "bytes */" + artifact.size()));
        }
        headers.put("Content-Range", part.get().header(artifact.size()));
        return stream(artifact, 206, part.get(), headers, true);
    }

    private Answer stream(
            Artifact artifact, int status, ByteRange.Part part, Map<String, String> headers, boolean body) {
        Answer.Writer writer = body ? new Content(artifacts.content(artifact, part.offset()), part.length()) : _ -> {};
        return new Answer.Stream(status, artifact.mimeType(), OptionalLong.of(part.length()), headers, writer);
    }

    private record Content(InputStream content, long length) implements Answer.Writer {
        @Override
        public void write(OutputStream out) throws IOException {
            byte[] buffer = new byte[Math.clamp(length, 1, BUFFER)];
            long left = length;
            while (left > 0) {
                int n = content.read(buffer, 0, (int) Math.min(buffer.length, left));
                if (n < 0) {
                    throw new EOFException("the content of an artifact is shorter than it was");
                }
                out.write(buffer, 0, n);
                left -= n;
            }
        }

        @Override
        public void close() {
            try {
                content.close();
            } catch (IOException e) {
                throw SandboxException.unavailable("could not close the content of an artifact", e);
            }
        }
    }
}
