package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Contract.Operation;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Two tenants that attack each other: every operation of the contract, with the other's ids in every place that takes
 * one. What is another's has to look like what never was: same status, same body. That it takes the same time is so by
 * construction, and not measured here: a tenant that is not the caller's is refused before anything is looked up, and
 * everything else is looked up by tenant and id together, in one statement that finds nothing either way.
 *
 * <p>Needs root and crun.
 */
class TwoTenantsTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String CONFIGS = "/v1/accounts/me/sandboxes";
    private static final String SHARED = "shared";
    private static final AtomicInteger PAIRS = new AtomicInteger();

    /** Parameters that name something of a tenant. */
    private static final Set<String> IDS = Set.of(
            "tenant_id",
            "session_id",
            "key_id",
            "sandbox_id",
            "sandbox",
            "skill",
            "output_id",
            "approval_id",
            "job_id",
            "webhook_id",
            "artifact_id",
            "run_id",
            "checkpoint_id",
            "checkpoint",
            "after_checkpoint",
            "secret");

    /** Parameters that do not. */
    private static final Set<String> HARMLESS = Set.of(
            ("name path stream offset limit format code language stateful timeout env command cwd changes max_bytes content"
                            + " encoding append pattern glob output_mode case_insensitive context_before context_after"
                            + " max_results fixed_strings multiline exclude include_hidden sort_by files description"
                            + " config scopes expires_in_seconds overlap_seconds state usage template limits idle pinned"
                            + " keep_checkpoints turn after follow permission_mode decision reason background url events cols rows watch terminal port wake before"
                            + " value bindings prefix network mode allow secrets caps text person runtime model instructions metadata"
                            + " expiry expires_in deny form")
                    .split(" "));

    /** A right body of each operation that takes one, without ids. */
    private static final Map<String, String> BODIES = Map.ofEntries(
            Map.entry("execute", "{\"code\":\"print(1)\"}"),
            Map.entry("bash", "{\"command\":\"cat secret.txt; echo broken > secret.txt\"}"),
            Map.entry("read", "{\"path\":\"secret.txt\"}"),
            Map.entry("readBinary", "{\"path\":\"secret.txt\"}"),
            Map.entry("write", "{\"path\":\"secret.txt\",\"content\":\"broken\"}"),
            Map.entry("grep", "{\"pattern\":\".\"}"),
            Map.entry("glob", "{\"pattern\":\"**\"}"),
            Map.entry("copy", "{\"files\":[{\"path\":\"secret.txt\",\"content\":\"broken\"}]}"),
            Map.entry("callTool", "{\"command\":\"cat secret.txt; echo broken > secret.txt\"}"),
            Map.entry("makeSandboxConfig", "{\"name\":\"anns-own\",\"config\":{\"timeout\":7}}"),
            Map.entry("changeSandboxConfig", "{\"description\":\"broken\"}"),
            Map.entry("makeWebhook", "{\"url\":\"http://127.0.0.1:9/hook\"}"),
            Map.entry("makeLink", "{}"),
            Map.entry("decide", "{\"decision\":\"approve\"}"),
            Map.entry("putSkill", skill("anns-own", "broken")),
            Map.entry("putSecret", "{\"bindings\":[{\"hosts\":[\"broken.example\"]}]}"),
            Map.entry("makeSession", "{}"),
            Map.entry("changeSessionNetwork", "{\"mode\":\"restricted\"}"),
            Map.entry("changeSession", "{\"pinned\":true}"),
            Map.entry("prompt", "{\"text\":\"hello\"}"),
            Map.entry("steerRun", "{\"text\":\"hello\"}"),
            Map.entry("chooseSessionAgent", "{\"instructions\":\"broken\"}"),
            Map.entry("chooseTenantAgent", "{\"instructions\":\"broken\"}"),
            Map.entry("makeCheckpoint", "{}"),
            Map.entry("rollbackSession", "{\"turn\":0}"),
            Map.entry("forkSession", "{}"),
            Map.entry("keepCheckpoint", "{\"session_id\":\"shared\"}"),
            Map.entry("makeKey", "{\"name\":\"broken\"}"),
            Map.entry("rotateKey", "{\"overlap_seconds\":0}"),
            Map.entry("putTenant", "{\"live\":0}"),
            Map.entry("makeTenantKey", "{\"name\":\"broken\"}"));

    private static final List<String> IDENTITY = List.of(
            "X-Tenant-ID",
            "X-Tenant",
            "X-Berth-Tenant",
            "X-User-ID",
            "X-User",
            "X-Forwarded-User",
            "X-Remote-User",
            "X-Account-ID");

    private static TestingBerth berth;
    private static Contract contract;

    private Tenant eve;
    private Tenant ann;

    /** @param ids what it has, by the parameters that name it; its own requests use the first of each */
    private record Tenant(String name, String key, String secret, Map<String, List<String>> ids) {
        List<String> all(String parameter) {
            return ids.getOrDefault(parameter, List.of());
        }

        String own(String parameter) {
            return ids.getOrDefault(parameter, List.of("bash")).getFirst();
        }
    }

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        contract = Contract.load();
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @BeforeEach
    void twoTenantsThatHaveEverything() {
        int pair = PAIRS.incrementAndGet();
        eve = tenant("eve" + pair, "eves-own");
        ann = tenant("ann" + pair, "anns-own");
    }

    private static Tenant tenant(String name, String called) {
        String key = berth.tenant(name);
        String secret = "secret-of-" + name;
        String start = "echo " + secret + " > secret.txt; setsid sleep 3000 > /dev/null 2>&1 & echo $! > pid";
        good(berth.post(key, CONFIGS, """
                {"name": "%s", "config": {"persistent": true, "permissionMode": "bypass", "envVars": {"S": "%s"}}}""".formatted(called, secret)));
        String config =
                berth.get(key, CONFIGS + "/" + called).json().path("sandboxId").asString();
        good(berth.post(key, "/v1/skills", skill(called, secret)));
        good(berth.send(key, "PUT", "/v1/secrets/" + variable(called), "{\"value\":\"" + secret + "\"}"));
        good(berth.post(
                key,
                "/v1/tools/bash",
                "{\"session_id\":\"" + called + "\",\"sandbox\":\"" + called + "\",\"command\":\"" + start + "\"}"));
        good(berth.post(key, "/v1/sandbox/bash", "{\"session_id\":\"" + SHARED + "\",\"command\":\"" + start + "\"}"));
        String output = good(berth.post(
                        key,
                        "/v1/sandbox/bash",
                        "{\"session_id\":\"" + SHARED + "\",\"command\":\"cat secret.txt; seq 200000\"}"))
                .path("output_id")
                .asString();
        String another = good(berth.post(key, "/v1/keys", "{\"name\":\"another\"}"))
                .path("info")
                .path("id")
                .asString();
        String kept = good(berth.post(
                        key, "/v1/checkpoints", "{\"session_id\":\"" + SHARED + "\",\"name\":\"" + called + "\"}"))
                .path("checkpoint_id")
                .asString();
        return new Tenant(
                name,
                key,
                secret,
                Map.ofEntries(
                        Map.entry("tenant_id", List.of(name)),
                        Map.entry("session_id", List.of(SHARED, called)),
                        Map.entry("key_id", List.of(another)),
                        Map.entry("sandbox_id", List.of(config, called)),
                        Map.entry("sandbox", List.of(config, called)),
                        Map.entry("skill", List.of(called)),
                        Map.entry("output_id", List.of(output)),
                        Map.entry("checkpoint_id", List.of(kept)),
                        Map.entry("checkpoint", List.of(kept, called)),
                        Map.entry("after_checkpoint", List.of(kept)),
                        Map.entry("approval_id", List.of(approval(key))),
                        Map.entry("port", List.of("8000")),
                        Map.entry("job_id", List.of(job(key))),
                        Map.entry("webhook_id", List.of(webhook(key))),
                        Map.entry("artifact_id", List.of(artifact(key))),
                        Map.entry("secret", List.of(variable(called)))));
    }

    private static String variable(String name) {
        return name.toUpperCase(Locale.ROOT).replace('-', '_');
    }

    /** One that runs for as long as the test does. */
    private static String job(String key) {
        return berth.post(
                        key,
                        "/v1/sandbox/bash",
                        "{\"session_id\":\"" + SHARED + "\",\"command\":\"sleep 3000\",\"background\":true}")
                .json()
                .path("job_id")
                .asString();
    }

    private static String webhook(String key) {
        return good(berth.post(key, "/v1/webhooks", "{\"url\":\"http://127.0.0.1:9/hook\"}"))
                .path("webhook_id")
                .asString();
    }

    private static String artifact(String key) {
        return good(berth.post(
                        key,
                        "/v1/sandbox/bash",
                        "{\"session_id\":\"" + SHARED + "\",\"command\":\"mkdir output; cp secret.txt output\"}"))
                .path("artifacts")
                .get(0)
                .path("artifact_id")
                .asString();
    }

    /** Of a call that waits. */
    private static String approval(String key) {
        good(berth.post(key, "/v1/sessions", "{\"session_id\":\"careful\",\"permission_mode\":\"ask\"}"));
        return berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/bash"))
                        .header("Authorization", "Bearer " + key)
                        .header("Content-Type", "application/json")
                        .header("Prefer", "respond-async")
                        .POST(BodyPublishers.ofString("{\"session_id\":\"careful\",\"command\":\"true\"}"))
                        .build())
                .json()
                .path("approval_id")
                .asString();
    }

    private static JsonNode good(Reply reply) {
        assertThat(reply.status()).as(reply.body()).isBetween(200, 201);
        return reply.json();
    }

    private static String skill(String name, String text) {
        return "{\"files\":[{\"path\":\"SKILL.md\",\"content\":\"---\\nname: " + name + "\\ndescription: d\\n---\\n"
                + text + "\"}]}";
    }

    @Test
    void everyParameterOfEveryOperationIsKnownToThisTest() {
        for (Operation operation : operations()) {
            assertThat(Stream.concat(IDS.stream(), HARMLESS.stream()))
                    .as(
                            "parameters of %s: say whether they name something of a tenant, and attack it then",
                            operation.id())
                    .containsAll(parameters(operation));
            assertThat(operation.body().isEmpty() || BODIES.containsKey(operation.id()))
                    .as("say in BODIES what a body of %s is", operation.id())
                    .isTrue();
        }
    }

    @Test
    void whatIsAnothersLooksLikeWhatNeverWas() {
        for (Tenant[] side : new Tenant[][] {{eve, ann}, {ann, eve}}) {
            String before = everythingOf(side[1]);
            String sessions = "/v1/sandbox/sessions/" + side[0].name() + "/";
            String foreign = side[1].all("session_id").getLast();
            Reply hers = berth.delete(side[0].key(), sessions + foreign);
            assertThat(hers.status()).isEqualTo(404);
            assertThat(same(hers, foreign))
                    .isEqualTo(same(berth.delete(side[0].key(), sessions + "nobodys"), "nobodys"));
            for (Operation operation : operations()) {
                for (String parameter : parameters(operation)) {
                    for (String id : side[1].all(parameter)) {
                        if (!side[0].all(parameter).contains(id)) {
                            attack(operation, side[0], side[1], parameter, id);
                        }
                    }
                }
            }
            assertThat(everythingOf(side[1])).isEqualTo(before);
        }
    }

    private static void attack(Operation operation, Tenant attacker, Tenant victim, String parameter, String foreign) {
        String unknown = neverWas(foreign);
        for (String path : paths(operation)) {
            Reply hers = send(operation, path, attacker, victim, Map.of(parameter, foreign));
            Reply nobodys = send(operation, path, attacker, victim, Map.of(parameter, unknown));
            String what = operation.id() + " with " + parameter + "=" + foreign + ": " + hers.body();
            assertThat(hers.body()).as(what).doesNotContain(victim.secret());
            assertThat(hers.status()).as(what).isEqualTo(nobodys.status());
            // A session's id is its tenant's own word: most operations make a computer for one that is new.
            if (!parameter.equals("session_id")) {
                assertThat(hers.status()).as(what).isEqualTo(404);
            }
            if (hers.status() == 404) {
                assertThat(same(hers, foreign)).as(what).isEqualTo(same(nobodys, unknown));
            }
        }
    }

    private static String same(Reply reply, String asked) {
        return reply.body().replaceAll("\"request_id\":\"[^\"]*\"", "").replace(asked, "ID");
    }

    /** Of the same length and of the same letters. */
    private static String neverWas(String id) {
        return id.substring(0, id.length() - 1) + (id.endsWith("0") ? "1" : "0");
    }

    @Test
    void aTenantThatIsNamedWhereNoneIsTakenIsRefused() {
        String before = everythingOf(ann);
        for (Operation operation : operations()) {
            for (String path : paths(operation)) {
                if (!operation.queryParameters().containsKey("tenant_id")) {
                    Reply reply = send(operation, path, eve, ann, Map.of("?tenant_id", ann.name()));
                    assertThat(reply.status()).as(operation.id() + reply.body()).isEqualTo(400);
                }
                if (operation.body().isPresent() && !parameters(operation).contains("tenant_id")) {
                    Reply reply = send(operation, path, eve, ann, Map.of("tenant_id", ann.name()));
                    assertThat(reply.status()).as(operation.id() + reply.body()).isEqualTo(400);
                }
            }
        }
        assertThat(everythingOf(ann)).isEqualTo(before);
    }

    @Test
    void whatIsMadeUnderAnothersNamesIsOnesOwn() {
        String before = everythingOf(ann);
        for (Operation operation : operations()) {
            if (Stream.concat(operation.pathParameters().keySet().stream(), operation.requiredQuery().stream())
                    .noneMatch(IDS::contains)) {
                for (String path : paths(operation)) {
                    Reply reply = send(operation, path, eve, ann, Map.of());
                    assertThat(reply.body())
                            .as(operation.id())
                            .doesNotContain(ann.secret())
                            .doesNotContain("\"" + ann.name() + "\"");
                    assertThat(reply.status()).as(operation.id() + reply.body()).isIn(200, 201, 409);
                }
            }
        }
        assertThat(everythingOf(ann)).isEqualTo(before);
    }

    @Test
    void theOperatorsOperationsAreForNoTenant() {
        String before = everythingOf(ann);
        for (Operation operation :
                contract.operations().stream().filter(Operation::admin).toList()) {
            Reply reply = send(
                    operation,
                    operation.path(),
                    eve,
                    ann,
                    ann.ids().entrySet().stream()
                            .filter(id -> operation.pathParameters().containsKey(id.getKey()))
                            .collect(Collectors.toMap(
                                    Map.Entry::getKey, id -> id.getValue().getFirst())));
            assertThat(reply.status()).as(operation.id()).isEqualTo(403);
            assertThat(reply.body()).as(operation.id()).doesNotContain(ann.name(), ann.secret());
        }
        assertThat(everythingOf(ann)).isEqualTo(before);
    }

    @Test
    void aToolReachesNothingOfAnother() {
        String before = everythingOf(ann);
        for (String body : List.of(
                "{\"tenant_id\":\"%s\",\"command\":\"id\"}",
                "{\"tenant_id\":\"%s\",\"session_id\":\"shared\",\"command\":\"id\"}",
                "{\"tenant_id\":\"%s\",\"sandbox\":\"anns-own\",\"command\":\"id\"}")) {
            Reply hers = berth.post(eve.key(), "/v1/tools/bash", body.formatted(ann.name()));
            Reply nobodys = berth.post(eve.key(), "/v1/tools/bash", body.formatted("nobody"));
            assertThat(hers.status()).as(hers.body()).isEqualTo(404);
            assertThat(same(hers, ann.name())).isEqualTo(same(nobodys, "nobody"));
        }
        for (String skill : List.of("anns-own", ann.name() + "/anns-own", "../" + ann.name() + "/anns-own")) {
            JsonNode hers = loadSkill(skill);
            JsonNode nobodys = loadSkill(neverWas(skill));
            assertThat(hers.path("ok").asBoolean()).isFalse();
            assertThat(hers.path("error").toString().replace(skill, "ID"))
                    .isEqualTo(nobodys.path("error").toString().replace(neverWas(skill), "ID"));
        }
        assertThat(everythingOf(ann)).isEqualTo(before);
    }

    @Test
    void theOperatorWorksWithTheNamedTenantsThings() {
        JsonNode reply = good(
                berth.post(
                        TestingBerth.ADMIN,
                        "/v1/tools/bash",
                        "{\"tenant_id\":\"" + ann.name()
                                + "\",\"session_id\":\"anns-own\",\"sandbox\":\"anns-own\",\"command\":\"echo $S; cat secret.txt\"}"));
        assertThat(reply.path("stdout").asString()).isEqualTo(ann.secret() + "\n" + ann.secret() + "\n");
    }

    private JsonNode loadSkill(String path) {
        return good(
                berth.post(eve.key(), "/v1/tools/load_skill", "{\"session_id\":\"shared\",\"path\":\"" + path + "\"}"));
    }

    // ---- requests ------------------------------------------------------------------------------------------------

    /** Those that a tenant may use. */
    private static List<Operation> operations() {
        return contract.routes().stream()
                .filter(operation -> !operation.open() && !operation.admin())
                // It has a protocol of its own, in which McpClientTest and McpHttpTest attack.
                .filter(operation -> !operation.path().equals("/mcp"))
                .toList();
    }

    private static List<String> paths(Operation operation) {
        return Stream.concat(Stream.of(operation.path()), operation.alias().stream())
                .toList();
    }

    private static Set<String> parameters(Operation operation) {
        Set<String> all = new TreeSet<>(operation.pathParameters().keySet());
        all.addAll(operation.queryParameters().keySet());
        all.addAll(bodyFields(operation));
        return all;
    }

    private static List<String> bodyFields(Operation operation) {
        JsonNode body = contract.document()
                .path("paths")
                .path(operation.path())
                .path(operation.method().toLowerCase(Locale.ROOT))
                .path("requestBody");
        List<String> fields = new ArrayList<>();
        if (body.isObject()) {
            contract.complete(body)
                    .path("content")
                    .path("application/json")
                    .path("schema")
                    .path("properties")
                    .properties()
                    .forEach(field -> fields.add(field.getKey()));
        }
        return fields;
    }

    /** With the attacker's own ids where no other is given, and with headers that claim to be the victim. */
    private static Reply send(
            Operation operation, String template, Tenant attacker, Tenant victim, Map<String, String> given) {
        String path = template;
        for (String name : operation.pathParameters().keySet()) {
            path = path.replace("{" + name + "}", given.getOrDefault(name, attacker.own(name)));
        }
        Map<String, String> query = new LinkedHashMap<>();
        operation.requiredQuery().forEach(name -> query.put(name, attacker.own(name)));
        query.computeIfPresent("path", (_, _) -> "secret.txt");
        if (operation.queryParameters().containsKey("follow")) {
            query.put("follow", "false"); // or it would wait for what never happens
        }
        given.forEach((name, value) -> {
            if (operation.queryParameters().containsKey(name)) {
                query.put(name, value);
            } else if (name.startsWith("?")) {
                query.put(name.substring(1), value);
            }
        });
        String asked = query.isEmpty()
                ? ""
                : "?"
                        + String.join(
                                "&",
                                query.entrySet().stream()
                                        .map(entry -> entry.getKey() + "=" + entry.getValue())
                                        .toList());
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(berth.url() + path + asked))
                .header("Authorization", "Bearer " + attacker.key())
                .header("X-User-Roles", "admin");
        IDENTITY.forEach(header -> request.header(header, victim.name()));
        if (operation.body().isPresent()) {
            ObjectNode body = (ObjectNode) JSON.readTree(BODIES.get(operation.id()));
            if (bodyFields(operation).contains("session_id")) {
                body.put("session_id", SHARED);
            }
            given.forEach((name, value) -> {
                if (!operation.pathParameters().containsKey(name)
                        && !operation.queryParameters().containsKey(name)
                        && !name.startsWith("?")) {
                    body.put(name, value);
                }
            });
            request.header("Content-Type", "application/json")
                    .method(operation.method(), BodyPublishers.ofString(JSON.writeValueAsString(body)));
        } else if (operation.otherBody()) {
            request.header("Content-Type", "application/octet-stream")
                    .method(operation.method(), BodyPublishers.ofString("broken"));
        } else {
            request.method(operation.method(), BodyPublishers.noBody());
        }
        return berth.send(request.build());
    }

    // ---- the victim ----------------------------------------------------------------------------------------------

    /** All that a tenant has, as it sees it itself; without the times of use, which looking changes. */
    private static String everythingOf(Tenant tenant) {
        String key = tenant.key();
        List<String> seen = new ArrayList<>();
        for (String session : tenant.all("session_id")) {
            JsonNode files = good(
                    berth.post(
                            key,
                            "/v1/sandbox/bash",
                            "{\"session_id\":\"" + session + "\",\"command\":\"cat secret.txt;"
                                    + " find . -type f -printf '%p %T@ %m %s\\\\n' | sort; kill -0 $(cat pid) && echo alive\"}"));
            assertThat(files.path("stdout").asString())
                    .as(files.toString())
                    .startsWith(tenant.secret() + "\n")
                    .endsWith("alive\n");
            seen.add(files.path("stdout").asString());
        }
        List<String> sessions = new ArrayList<>();
        berth.get(key, "/v1/sandbox/sessions")
                .json()
                .path("sessions")
                .forEach(session -> sessions.add(withoutUse(session.toString())));
        sessions.sort(null); // they come by their last use
        seen.addAll(sessions);
        for (String path : List.of(
                "/v1/keys",
                "/v1/approvals",
                "/v1/jobs",
                "/v1/webhooks",
                "/v1/secrets",
                "/v1/sessions/" + SHARED + "/artifacts",
                "/v1/artifacts/" + tenant.own("artifact_id") + "/content",
                CONFIGS,
                "/v1/skills",
                "/v1/skills/" + tenant.own("skill"),
                "/v1/sandbox/outputs/" + tenant.own("output_id") + "?session_id=" + SHARED)) {
            Reply reply = berth.get(key, path);
            assertThat(reply.status()).as(path).isEqualTo(200);
            seen.add(withoutUse(reply.body()));
        }
        return String.join("\n", seen);
    }

    private static String withoutUse(String json) {
        return json.replaceAll("\"last_used_at\":(\"[^\"]*\"|null)", "");
    }
}
