package dev.berth.gateway.mcp;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.artifact.Artifact;
import dev.berth.session.artifact.Artifacts;
import io.modelcontextprotocol.spec.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.spec.McpSchema.ListResourceTemplatesResult;
import io.modelcontextprotocol.spec.McpSchema.ListResourcesResult;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceResult;
import io.modelcontextprotocol.spec.McpSchema.Resource;
import io.modelcontextprotocol.spec.McpSchema.ResourceContents;
import io.modelcontextprotocol.spec.McpSchema.ResourceTemplate;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/** What runs left for people to see, as resources. */
public final class ArtifactResources {
    private static final Pattern URI = Pattern.compile("berth://sessions/([^/]{1,200})/artifacts/([^/]{1,200})");
    private static final int PAGE = 100;
    private static final long MOST_BYTES = 10 << 20;
    /** What is smaller needs no care. */
    private static final long SMALL = 256 << 10;

    private static final Set<String> TEXTS = Set.of(
            "application/json",
            "application/jsonl",
            "application/x-ipynb+json",
            "application/xml",
            "application/yaml",
            "image/svg+xml");

    private final Artifacts artifacts;
    /** A large one is in memory several times on its way, so there are few of them at a time. */
    private final Semaphore large = new Semaphore(3);

    public ArtifactResources(Artifacts artifacts) {
        this.artifacts = artifacts;
    }

    static String uri(String session, String artifact) {
        return "berth://sessions/" + session + "/artifacts/" + artifact;
    }

    static ListResourceTemplatesResult templates() {
        return ListResourceTemplatesResult.builder(
                        List.of(ResourceTemplate.builder(uri("{session_id}", "{artifact_id}"), "artifact")
                                .title("Artifact of a session")
                                .description("A file that a run left in output/ for people to see")
                                .build()))
                .build();
    }

    // ---- the list ------------------------------------------------------------------------------------------------

    /** Those of the sessions that this client works in, one session after the other, the newest first. */
    ListResourcesResult list(Incoming incoming, JsonNode params) {
        List<String> sessions = Stream.concat(Stream.of(incoming.session()), incoming.conversation().used().stream())
                .distinct()
                .sorted()
                .toList();
        String[] cursor = params.path("cursor").asString("").split("/", -1);
        if (cursor.length > 2 || (cursor.length == 2 && !sessions.contains(cursor[0]))) {
            throw SandboxException.invalid("this is no cursor of this list; begin again without one");
        }
        Optional<String> before = cursor.length == 2 ? Optional.of(cursor[1]) : Optional.empty();
        for (int i = cursor.length == 2 ? sessions.indexOf(cursor[0]) : 0; i < sessions.size(); i++) {
            List<Artifact> page = artifacts.list(SessionKey.of(incoming.tenant(), sessions.get(i)), before, PAGE);
            before = Optional.empty();
            if (!page.isEmpty()) {
                ListResourcesResult.Builder shown = ListResourcesResult.builder(
                        page.stream().map(ArtifactResources::resource).toList());
                boolean more = page.size() == PAGE || i + 1 < sessions.size();
                return (more
                                ? shown.nextCursor(
                                        sessions.get(i) + "/" + page.getLast().id())
                                : shown)
                        .build();
            }
        }
        return ListResourcesResult.builder(List.of()).build();
    }

    private static Resource resource(Artifact artifact) {
        return Resource.builder(uri(artifact.session().id(), artifact.id()), artifact.name())
                .description(
                        artifact.path() + " of session " + artifact.session().id())
                .mimeType(artifact.mimeType())
                .size(artifact.size())
                .build();
    }

    // ---- what is in one ------------------------------------------------------------------------------------------

    ReadResourceResult read(Incoming incoming, JsonNode params) throws IOException, InterruptedException {
        String uri = params.path("uri").asString("");
        Matcher parts = URI.matcher(uri);
        Artifact artifact = Optional.of(parts)
                .filter(Matcher::matches)
                .flatMap(it -> artifacts.find(it.group(2)))
                .filter(found -> found.session().tenant().equals(incoming.tenant())
                        && found.session().id().equals(parts.group(1)))
                .orElseThrow(() -> Failures.noResource(uri));
        return ReadResourceResult.builder(List.of(contents(incoming, uri, artifact)))
                .build();
    }

    private ResourceContents contents(Incoming incoming, String uri, Artifact artifact)
            throws IOException, InterruptedException {
        if (artifact.size() > MOST_BYTES) {
            return TextResourceContents.builder(
                            uri,
                            "This has " + artifact.size()
                                    + " bytes, which is too large to be read here. Download it by GET"
                                    + " /v1/artifacts/" + artifact.id() + "/content")
                    .mimeType("text/plain")
                    .build();
        }
        if (artifact.size() > SMALL) {
            if (!large.tryAcquire(30, TimeUnit.SECONDS)) {
                throw SandboxException.limit("many large artifacts are being read; try again in a moment");
            }
            incoming.reply().afterwards(large::release);
        }
        byte[] bytes;
        try (InputStream content = artifacts.content(artifact, 0)) {
            bytes = content.readNBytes((int) artifact.size());
        }
        return text(artifact, bytes)
                .<ResourceContents>map(text -> TextResourceContents.builder(uri, text)
                        .mimeType(artifact.mimeType())
                        .build())
                .orElseGet(() -> BlobResourceContents.builder(
                                uri, Base64.getEncoder().encodeToString(bytes))
                        .mimeType(artifact.mimeType())
                        .build());
    }

    /** Empty if it is no text, or says that it is and is not. */
    private static Optional<String> text(Artifact artifact, byte[] bytes) {
        if (!artifact.mimeType().startsWith("text/") && !TEXTS.contains(artifact.mimeType())) {
            return Optional.empty();
        }
        try {
            return Optional.of(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }
}
