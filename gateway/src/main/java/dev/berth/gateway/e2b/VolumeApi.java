package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.VolumeTable.Row;
import dev.berth.sandbox.SandboxFiles;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Volumes, and what is in them: the first with a key of the API, the second with the volume's own token. */
public final class VolumeApi {
    private static final String BEARER = "Bearer ";
    private static final String PURPOSE = "e2b-volume";

    private final VolumeBook volumes;
    private final Callers callers;
    private final Tokens tokens;
    private final String domain;

    /**
     * @param domain where clients are to take the content from. Without one they take their own, which is E2B's where nobody
     *     set it, and would send a volume's token there
     */
    public VolumeApi(VolumeBook volumes, Callers callers, Tokens tokens, String domain) {
        this.volumes = volumes;
        this.callers = callers;
        this.tokens = tokens;
        this.domain = domain;
    }

    public void routes(Routes routes) {
        routes.on("GET", "/volumes", this::list)
                .on("POST", "/volumes", this::make)
                .on("GET", "/volumes/{volumeID}", this::get)
                .on("DELETE", "/volumes/{volumeID}", this::remove)
                .on("GET", "/volumecontent/{volumeID}/dir", call -> VolumeContent.list(files(call), call))
                .on("POST", "/volumecontent/{volumeID}/dir", call -> VolumeContent.makeDirectory(files(call), call))
                .on("GET", "/volumecontent/{volumeID}/path", call -> VolumeContent.stat(files(call), call))
                .on("PATCH", "/volumecontent/{volumeID}/path", call -> VolumeContent.change(files(call), call))
                .on("DELETE", "/volumecontent/{volumeID}/path", call -> VolumeContent.remove(files(call), call))
                .on("GET", "/volumecontent/{volumeID}/file", call -> VolumeContent.read(files(call), call))
                .on("PUT", "/volumecontent/{volumeID}/file", call -> VolumeContent.write(files(call), call));
    }

    private void list(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        call.answer(
                200,
                volumes.list(tenant).stream()
                        .map(row -> Map.of("volumeID", row.id(), "name", row.name(), "domain", domain))
                        .toList());
    }

    private void make(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        JsonNode name = call.json().path("name");
        if (!name.isString()) {
            throw new E2bError(400, "name must be a text");
        }
        call.answer(201, show(volumes.make(tenant, name.asString())));
    }

    private void get(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        call.answer(200, show(volumes.get(tenant, call.path("volumeID"))));
    }

    private void remove(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        volumes.remove(tenant, call.path("volumeID"));
        call.answer(204);
    }

    private Map<String, Object> show(Row row) {
        return Map.of(
                "volumeID", row.id(), "name", row.name(), "token", tokens.of(PURPOSE, row.id()), "domain", domain);
    }

    /** The token is asked first, so that nobody learns which volumes there are. */
    private SandboxFiles files(Call call) {
        String id = call.path("volumeID");
        boolean proven = call.header("Authorization")
                .filter(value -> value.regionMatches(true, 0, BEARER, 0, BEARER.length()))
                .map(value -> value.substring(BEARER.length()).strip())
                .filter(token -> Tokens.same(token, tokens.of(PURPOSE, id)))
                .isPresent();
        if (!proven) {
            throw new E2bError(401, "the token is not this volume's");
        }
        return volumes.files(id);
    }
}
