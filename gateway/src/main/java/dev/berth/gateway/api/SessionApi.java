package dev.berth.gateway.api;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.template.TemplateOwners;
import dev.berth.gateway.egress.NetworkJson;
import dev.berth.gateway.egress.Networks;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Usage;
import dev.berth.session.Expiry;
import dev.berth.session.IdlePolicy;
import dev.berth.session.KeptCheckpoint;
import dev.berth.session.Loss;
import dev.berth.session.PermissionMode;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import dev.berth.session.Turns;
import dev.berth.session.artifact.Artifacts;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The sessions that a caller may see, and what can be done with them as wholes. */
public final class SessionApi {
    private static final int MOST = 1000;
    private static final Set<SessionState> THERE = EnumSet.complementOf(EnumSet.of(SessionState.DESTROYED));

    private final Sessions sessions;
    private final Artifacts artifacts;
    private final Networks networks;
    private final TemplateOwners owners;

    public SessionApi(Sessions sessions, Artifacts artifacts, Networks networks, TemplateOwners owners) {
        this.sessions = sessions;
        this.artifacts = artifacts;
        this.networks = networks;
        this.owners = owners;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.ofEntries(
                Map.entry("listSessions", this::listBriefly),
                Map.entry("deleteSession", this::delete),
                Map.entry("sessions", this::list),
                Map.entry("makeSession", this::make),
                Map.entry("session", this::get),
                Map.entry("changeSession", this::change),
                Map.entry("removeSession", this::delete),
                Map.entry("pauseSession", exchange -> after(exchange, sessions::pause)),
                Map.entry("resumeSession", exchange -> after(exchange, this::bringUp)),
                Map.entry("stopSession", exchange -> after(exchange, sessions::stop)),
                Map.entry("archiveSession", exchange -> after(exchange, sessions::archive)),
                Map.entry("sessionNetwork", this::network),
                Map.entry("changeSessionNetwork", this::changeNetwork),
                Map.entry("checkpoints", this::checkpoints),
                Map.entry("makeCheckpoint", this::makeCheckpoint),
                Map.entry("rollbackSession", this::rollback),
                Map.entry("forkSession", this::fork));
    }

    // ---- which session -------------------------------------------------------------------------------------------

    /** The key of a session that a request names. */
    static SessionKey key(Caller caller, Optional<String> tenant, String session) {
        return SessionKey.of(tenant(caller, tenant), session);
    }

    /** Whose things a request is about. Of another tenant nothing is told, not even that it is another one's. */
    static String tenant(Caller caller, Optional<String> named) {
        String owner = named.orElse(caller.tenant());
        if (!caller.admin() && !owner.equals(caller.tenant())) {
            throw unknown();
        }
        return owner;
    }

    /** The one in the path, whether it is there or not. */
    public static SessionKey key(Exchange exchange) {
        Optional<String> tenant = exchange.query("tenant_id");
        return key(exchange.caller(), tenant, exchange.path("session_id"));
    }

    public static SandboxException unknown() {
        return SandboxException.notFound("there is no such session");
    }

    /** One that is there. */
    public static SessionInfo known(Sessions sessions, SessionKey key) {
        return sessions.find(key).filter(info -> THERE.contains(info.state())).orElseThrow(SessionApi::unknown);
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    private Answer listBriefly(Exchange exchange) {
        Map<SessionKey, Integer> made = artifacts.counts(tenant(exchange));
        return Answer.ok(Map.of(
                "sessions",
                sessions
                        .list(
                                tenant(exchange),
                                exchange.query("limit").map(Integer::parseInt).orElse(MOST))
                        .stream()
                        .map(info -> brief(info, made.getOrDefault(info.key(), 0)))
                        .toList()));
    }

    private static Map<String, Object> brief(SessionInfo info, int artifacts) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("tenant_id", info.key().tenant());
        shown.put("session_id", info.key().id());
        shown.put("state", info.state().toString());
        shown.put("backend", info.provider());
        shown.put("template", info.template());
        shown.put("created_at", info.times().createdAt());
        shown.put("last_used_at", info.times().lastActivityAt());
        shown.put("memory", info.limits().memoryBytes());
        shown.put("disk", info.diskBytes());
        shown.put("artifacts", artifacts);
        info.lastError().ifPresent(error -> shown.put("last_error", error));
        return shown;
    }

    /** Whose things a list is to have; of all if empty, which only the operator may ask for. */
    static Optional<String> tenant(Exchange exchange) {
        Optional<String> asked = exchange.query("tenant_id");
        String tenant = tenant(exchange.caller(), asked);
        return exchange.caller().admin() ? asked : Optional.of(tenant);
    }

    private Answer list(Exchange exchange) {
        int limit = exchange.query("limit").map(Integer::parseInt).orElse(MOST);
        Set<SessionState> states = exchange.query("state")
                .map(SessionState::parse)
                .<Set<SessionState>>map(EnumSet::of)
                .orElse(THERE);
        boolean usage = usage(exchange);
        return Answer.ok(Map.of(
                "sessions",
                sessions.list(tenant(exchange), states, limit).stream()
                        .map(info -> show(info, usage))
                        .toList()));
    }

    private Answer get(Exchange exchange) {
        return Answer.ok(show(known(sessions, key(exchange)), usage(exchange)));
    }

    private static boolean usage(Exchange exchange) {
        return exchange.query("usage").map(Boolean::parseBoolean).orElse(false);
    }

    private Map<String, Object> show(SessionInfo info, boolean usage) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("tenant_id", info.key().tenant());
        shown.put("session_id", info.key().id());
        shown.put("state", info.state().toString());
        shown.put("provider", info.provider());
        shown.put("template", info.template());
        shown.put("permission_mode", info.permissionMode().toString());
        shown.put("pinned", info.pinned());
        shown.put("turn", info.turn());
        Limits limits = info.limits();
        shown.put(
                "limits",
                Map.of(
                        "memory", limits.memoryBytes(),
                        "disk", limits.diskBytes(),
                        "cpus", limits.cpus(),
                        "pids", limits.pids()));
        shown.put("network", NetworkJson.show(info.network()));
        shown.put("idle", show(info.idle()));
        shown.put("metadata", info.metadata());
        info.expiry().ifPresent(expiry -> shown.put("expiry", show(expiry)));
        info.expiresAt().ifPresent(end -> shown.put("expires_at", end));
        shown.put("disk", info.diskBytes());
        if (usage) {
            sessions.usage(info.key()).ifPresent(used -> shown.put("usage", show(used)));
        }
        shown.put("last_event", info.lastEvent());
        info.loss().map(Loss::sentence).ifPresent(loss -> shown.put("loss", loss));
        info.lastError().ifPresent(error -> shown.put("last_error", error));
        shown.put("created_at", info.times().createdAt());
        shown.put("last_used_at", info.times().lastActivityAt());
        return shown;
    }

    private static Map<String, Object> show(Expiry expiry) {
        return Map.of(
                "after", expiry.after().toMillis() / 1e3, "then", expiry.then().toString());
    }

    private static Map<String, Object> show(Usage used) {
        return Map.of(
                "memory", used.memoryBytes(),
                "pids", used.pids(),
                "cpu_seconds", used.cpuTime().toNanos() / 1e9,
                "disk", used.diskBytes());
    }

    private static Map<String, Object> show(IdlePolicy idle) {
        Map<String, Object> shown = new HashMap<>();
        idle.pauseAfter().ifPresent(after -> shown.put("pause_after", after.toMillis() / 1e3));
        idle.stopAfter().ifPresent(after -> shown.put("stop_after", after.toMillis() / 1e3));
        idle.archiveAfter().ifPresent(after -> shown.put("archive_after", after.toMillis() / 1e3));
        idle.deleteAfter().ifPresent(after -> shown.put("delete_after", after.toMillis() / 1e3));
        idle.lifetime().ifPresent(whole -> shown.put("lifetime", whole.toMillis() / 1e3));
        return shown;
    }

    // ---- making and changing -------------------------------------------------------------------------------------

    private Answer make(Exchange exchange) {
        ObjectNode body = exchange.body();
        String id = SandboxApi.optional(body, "session_id")
                .orElseGet(() -> UUID.randomUUID().toString());
        SessionKey key = key(exchange.caller(), SandboxApi.optional(body, "tenant_id"), id);
        Optional<KeptCheckpoint> checkpoint = SandboxApi.optional(body, "checkpoint")
                .map(name -> sessions.checkpoints().find(key.tenant(), name).orElseThrow(CheckpointApi::unknown));
        boolean there = checkpoint.isEmpty()
                && sessions.find(key)
                        .filter(info -> THERE.contains(info.state()))
                        .isPresent();
        SessionSpec spec = spec(key, body, checkpoint.map(from -> from.over(sessions.spec())));
        try (Session session =
                checkpoint.isPresent() ? sessions.create(key, spec, checkpoint.get()) : sessions.resolve(key, spec)) {
            if (!there && body.path("pinned").asBoolean(false)) {
                sessions.pin(session.key(), true);
            }
            if (!there && body.has("permission_mode")) {
                sessions.permit(session.key(), mode(exchange));
            }
        }
        Map<String, Object> shown = show(known(sessions, key), false);
        return there ? Answer.ok(shown) : Answer.created(shown);
    }

    private SessionSpec spec(SessionKey key, ObjectNode body, Optional<SessionSpec> like) {
        SessionSpec spec = like.orElseGet(sessions::spec);
        if (body.has("network")) {
            spec = spec.withNetwork(networks.read(key.tenant(), body.path("network"), "network."));
        }
        if (body.has("template")) {
            spec = owners.checked(
                    key.tenant(), spec.withTemplate(body.path("template").asString()));
        }
        if (body.has("env")) {
            spec = spec.withEnv(SandboxApi.env(body));
        }
        if (body.has("keep_checkpoints")) {
            spec = spec.withAutoCheckpoints(body.path("keep_checkpoints").asInt());
        }
        if (body.has("metadata")) {
            spec = spec.withMetadata(strings(body.path("metadata")));
        }
        if (body.has("expiry")) {
            spec = spec.withExpiry(expiry(body.path("expiry"), false));
        }
        return spec.withLimits(limits(spec.limits(), body.path("limits")))
                .withIdle(idle(spec.idle(), body.path("idle")));
    }

    private static Map<String, String> strings(JsonNode object) {
        Map<String, String> all = new HashMap<>();
        object.properties()
                .forEach(entry -> all.put(entry.getKey(), entry.getValue().asString()));
        return all;
    }

    private static Expiry expiry(JsonNode wanted, boolean wakesOnTraffic) {
        return new Expiry(
                seconds(wanted.path("after")),
                Expiry.Then.parse(wanted.path("then").asString()),
                wakesOnTraffic);
    }

    private static Duration seconds(JsonNode number) {
        return Duration.ofMillis(Math.round(number.asDouble() * 1000));
    }

    private static Limits limits(Limits before, JsonNode wanted) {
        return before.withMemory(wanted.path("memory").asLong(before.memoryBytes()))
                .withDisk(wanted.path("disk").asLong(before.diskBytes()))
                .withCpus(wanted.path("cpus").asDouble(before.cpus()))
                .withPids(wanted.path("pids").asInt(before.pids()));
    }

    private static IdlePolicy idle(IdlePolicy before, JsonNode wanted) {
        return new IdlePolicy(
                after(wanted, "pause_after", before.pauseAfter()),
                after(wanted, "stop_after", before.stopAfter()),
                after(wanted, "archive_after", before.archiveAfter()),
                after(wanted, "delete_after", before.deleteAfter()),
                after(wanted, "lifetime", before.lifetime()));
    }

    private static Optional<Duration> after(JsonNode wanted, String step, Optional<Duration> before) {
        if (!wanted.has(step)) {
            return before;
        }
        return wanted.path(step).isNull() ? Optional.empty() : Optional.of(seconds(wanted.path(step)));
    }

    private Answer change(Exchange exchange) {
        SessionInfo info = known(sessions, key(exchange));
        ObjectNode body = exchange.body();
        if (body.has("limits")) {
            sessions.limit(info.key(), limits(info.limits(), body.path("limits")));
        }
        if (body.has("idle")) {
            sessions.idle(info.key(), idle(info.idle(), body.path("idle")));
        }
        if (body.has("expiry")) {
            boolean wakes = info.expiry().map(Expiry::wakesOnTraffic).orElse(false);
            JsonNode wanted = body.path("expiry");
            sessions.expiry(info.key(), wanted.isNull() ? Optional.empty() : Optional.of(expiry(wanted, wakes)));
        }
        if (body.has("expires_in")) {
            sessions.expire(info.key(), seconds(body.path("expires_in")));
        }
        if (body.has("permission_mode")) {
            PermissionMode wanted = mode(exchange);
            if (wanted.stricter(info.permissionMode()) != wanted) {
                exchange.caller().require(Scope.APPROVALS);
            }
            sessions.permit(info.key(), wanted);
        }
        if (body.has("pinned")) {
            sessions.pin(info.key(), body.path("pinned").asBoolean());
        }
        return Answer.ok(show(known(sessions, info.key()), false));
    }

    private static PermissionMode mode(Exchange exchange) {
        return PermissionMode.parse(exchange.body().path("permission_mode").asString());
    }

    private Answer network(Exchange exchange) {
        return Answer.ok(NetworkJson.show(known(sessions, key(exchange)).network()));
    }

    private Answer changeNetwork(Exchange exchange) {
        SessionKey key = known(sessions, key(exchange)).key();
        sessions.network(key, networks.read(key.tenant(), exchange.body(), ""));
        return network(exchange);
    }

    private Answer delete(Exchange exchange) {
        // The path has the tenant in it in one of the two places where this can be asked for.
        SessionKey key = exchange.path().containsKey("tenant_id")
                ? key(exchange.caller(), Optional.of(exchange.path("tenant_id")), exchange.path("session_id"))
                : key(exchange);
        sessions.delete(known(sessions, key).key());
        return Answer.done();
    }

    private Answer after(Exchange exchange, Consumer<SessionKey> step) {
        SessionKey key = known(sessions, key(exchange)).key();
        step.accept(key);
        return Answer.ok(show(known(sessions, key), false));
    }

    private void bringUp(SessionKey key) {
        sessions.resolve(key).close();
    }

    // ---- points in time ------------------------------------------------------------------------------------------

    private Answer checkpoints(Exchange exchange) {
        SessionKey key = known(sessions, key(exchange)).key();
        return Answer.ok(Map.of(
                "checkpoints",
                sessions.turns().kept(key).stream().map(SessionApi::show).toList()));
    }

    private static Map<String, Object> show(Turns.Kept kept) {
        return Map.of("turn", kept.turn(), "name", kept.name(), "created_at", kept.createdAt());
    }

    private Answer makeCheckpoint(Exchange exchange) {
        SessionKey key = known(sessions, key(exchange)).key();
        try (Session session = sessions.resolve(key)) {
            Optional<String> name = SandboxApi.optional(exchange.body(), "name");
            String actor = exchange.caller().name();
            return Answer.created(show(sessions.turns().checkpoint(session, name, actor)));
        }
    }

    private Answer rollback(Exchange exchange) {
        int turn = exchange.body().path("turn").asInt();
        return after(
                exchange, key -> sessions.rollback(key, turn, exchange.caller().name()));
    }

    private Answer fork(Exchange exchange) {
        SessionKey source = known(sessions, key(exchange)).key();
        ObjectNode body = exchange.body();
        SessionKey target = SessionKey.of(
                source.tenant(),
                SandboxApi.optional(body, "session_id")
                        .orElseGet(() -> UUID.randomUUID().toString()));
        OptionalInt turn = body.has("turn") ? OptionalInt.of(body.path("turn").asInt()) : OptionalInt.empty();
        sessions.fork(source, turn, target, exchange.caller().name()).close();
        return Answer.created(show(known(sessions, target), false));
    }
}
