package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Expiry;
import dev.berth.session.Forked;
import dev.berth.session.IdlePolicy;
import dev.berth.session.KeptCheckpoint;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Sandboxes from their making to their end, as E2B's API has it. */
final class SandboxApi {
    private static final Duration USUAL = Duration.ofMinutes(5);
    private static final Duration USUAL_RESUMED = Duration.ofSeconds(15);
    private static final Duration LEAST_REFRESH = Duration.ofSeconds(15);
    private static final int MOST_FORKS = 100;
    private static final String ID_VARIABLE = "E2B_SANDBOX_ID";
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

    private final Sessions sessions;
    private final Sandboxes sandboxes;
    private final Callers callers;
    private final TemplateNames templates;
    private final Egress egress;
    private final VolumeBook volumes;
    private final SandboxJson json;
    private final Timeouts timeouts;
    private final SecureRandom random = new SecureRandom();

    SandboxApi(
            Sessions sessions,
            Sandboxes sandboxes,
            Callers callers,
            TemplateNames templates,
            Egress egress,
            VolumeBook volumes,
            SandboxJson json,
            Timeouts timeouts) {
        this.sessions = sessions;
        this.sandboxes = sandboxes;
        this.callers = callers;
        this.templates = templates;
        this.egress = egress;
        this.volumes = volumes;
        this.json = json;
        this.timeouts = timeouts;
    }

    void routes(Routes routes) {
        routes.on("POST", "/v2/sandboxes", call -> create(call, false))
                .on("POST", "/sandboxes", call -> create(call, true))
                .on("GET", "/sandboxes/{sandboxID}", this::show)
                .on("DELETE", "/sandboxes/{sandboxID}", this::kill)
                .on("POST", "/v2/sandboxes/{sandboxID}/connect", call -> connect(call, USUAL))
                .on("POST", "/sandboxes/{sandboxID}/connect", this::connectFirst)
                .on("POST", "/sandboxes/{sandboxID}/resume", this::resume)
                .on("POST", "/sandboxes/{sandboxID}/timeout", this::timeout)
                .on("POST", "/sandboxes/{sandboxID}/refreshes", this::refresh)
                .on("POST", "/sandboxes/{sandboxID}/pause", this::pause)
                .on("POST", "/sandboxes/{sandboxID}/fork", this::fork)
                .on("PUT", "/sandboxes/{sandboxID}/network", this::network);
    }

    // ---- making --------------------------------------------------------------------------------------------------

    private void create(Call call, boolean first) {
        Caller caller = callers.admit(call, Scope.SESSIONS, Scope.TOOLS);
        NewSandbox wanted = NewSandbox.read(call.json(), first, timeouts);
        SessionKey key = newKey(caller);
        Optional<KeptCheckpoint> snapshot = snapshot(caller.tenant(), wanted.template());
        TemplateNames.Named named =
                snapshot.map(TemplateNames::of).orElseGet(() -> templates.resolve(caller.tenant(), wanted.template()));
        Egress.Asked asked = egress.create(caller, wanted.body());
        Facts facts = new Facts(wanted.secure(), named.id(), named.alias(), asked.internet(), asked.given());
        Limits usual =
                snapshot.map(KeptCheckpoint::limits).orElse(sessions.spec().limits());
        SessionSpec spec = sessions.spec()
                .withTemplate(named.template())
                .withLimits(named.limits(usual))
                .withNetwork(asked.network())
                .withMounts(volumes.mounts(caller.tenant(), wanted.body().path("volumeMounts")))
                .withEnv(env(key.id(), named, wanted.env(), snapshot))
                .withChannel(Sandboxes.CHANNEL)
                .withIdle(IdlePolicy.NEVER)
                .withMetadata(wanted.metadata())
                .withExpiry(wanted.expiry())
                .withSurface(facts.kept());
        egress.begin(key, asked);
        try (Session session =
                snapshot.isPresent() ? sessions.create(key, spec, snapshot.get()) : sessions.create(key, spec)) {
            call.answer(201, json.handle(session.info(), caller));
        }
    }

    private SessionKey newKey(Caller caller) {
        StringBuilder id = new StringBuilder("i");
        while (id.length() < 21) {
            id.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return SessionKey.of(caller.tenant(), id.toString());
    }

    private static Map<String, String> env(
            String id, TemplateNames.Named template, Map<String, String> given, Optional<KeptCheckpoint> snapshot) {
        Map<String, String> env = new LinkedHashMap<>();
        snapshot.ifPresent(kept -> env.putAll(kept.env()));
        env.put("E2B_SANDBOX", "true");
        env.put(ID_VARIABLE, id);
        env.put("E2B_TEMPLATE_ID", template.id());
        env.putAll(given);
        return env;
    }

    /** A snapshot is a template to E2B's clients, by its id or name, with or without namespace and tag. */
    private Optional<KeptCheckpoint> snapshot(String tenant, String template) {
        return sessions.checkpoints().find(tenant, SnapshotApi.plain(tenant, template));
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    private void show(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        call.answer(200, json.detail(asked(caller, call), caller));
    }

    // ---- how long ------------------------------------------------------------------------------------------------

    private void timeout(Call call) {
        SessionInfo info = asked(call);
        Duration timeout = timeouts.required(call.json().path("timeout"));
        requireRunning(info);
        sessions.expire(info.key(), timeout);
        call.answer(204);
    }

    private void refresh(Call call) {
        SessionInfo info = asked(call);
        Duration wanted = timeouts.read(call.json().path("duration"), LEAST_REFRESH);
        requireRunning(info);
        sessions.extend(info.key(), wanted.compareTo(LEAST_REFRESH) < 0 ? LEAST_REFRESH : wanted);
        call.answer(204);
    }

    private static void requireRunning(SessionInfo info) {
        if (!Sandboxes.running(info)) {
            throw Sandboxes.unknown(info.key().id());
        }
    }

    // ---- sleeping and waking -------------------------------------------------------------------------------------

    private void pause(Call call) {
        SessionInfo info = asked(call);
        boolean memory = NewSandbox.flag(call.json(), "memory").orElse(true);
        if (!Sandboxes.running(info)) {
            throw new E2bError(409, "Sandbox \"" + info.key().id() + "\" is already paused");
        }
        if (memory) {
            sessions.pause(info.key());
        } else {
            sessions.stop(info.key());
        }
        call.answer(204);
    }

    private void connectFirst(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS, Scope.TOOLS);
        SessionInfo info = sandboxes.wanted(caller.tenant(), call.path("sandboxID"));
        ObjectNode body = call.json();
        connect(call, caller, info, timeouts.required(body.path("timeout")), body);
    }

    private void connect(Call call, Duration usual) {
        Caller caller = callers.admit(call, Scope.SESSIONS, Scope.TOOLS);
        SessionInfo info = sandboxes.wanted(caller.tenant(), call.path("sandboxID"));
        ObjectNode body = call.json();
        connect(call, caller, info, timeouts.read(body.path("timeout"), usual), body);
    }

    /** A sandbox that runs lives on for at least so long; one that sleeps is woken. */
    private void connect(Call call, Caller caller, SessionInfo info, Duration timeout, ObjectNode body) {
        boolean memory = NewSandbox.flag(body, "memory").orElse(true);
        boolean reboots = !Sandboxes.running(info) && !memory;
        if (reboots && info.state() != SessionState.STOPPED) {
            sessions.stop(info.key());
        }
        // Looked at again when nobody else is at it: of two who connect at once, one wakes it, and the other may only
        // let
        // it live longer.
        AtomicBoolean woken = new AtomicBoolean();
        Predicate<SessionInfo> stillThere = row -> {
            woken.set(!Sandboxes.running(row));
            return Sandboxes.exists(row);
        };
        try (Session session = sessions.resolve(info.key(), stillThere)) {
            if (woken.get()) {
                sessions.expire(info.key(), timeout);
            } else {
                sessions.extend(info.key(), timeout);
            }
            call.answer(woken.get() ? 201 : 200, json.handle(session.info(), caller));
        }
    }

    /** As the first clients ask for it: only of one that sleeps. */
    private void resume(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS, Scope.TOOLS);
        SessionInfo info = sandboxes.wanted(caller.tenant(), call.path("sandboxID"));
        ObjectNode body = call.json();
        if (Sandboxes.running(info)) {
            throw new E2bError(409, "Sandbox \"" + info.key().id() + "\" is already running");
        }
        NewSandbox.flag(body, "autoPause").ifPresent(pauses -> {
            Expiry was = info.expiry().orElse(new Expiry(USUAL_RESUMED, Expiry.Then.DELETE, false));
            Expiry.Then then = pauses ? Expiry.Then.PAUSE : Expiry.Then.DELETE;
            sessions.expiry(info.key(), Optional.of(new Expiry(was.after(), then, pauses && was.wakesOnTraffic())));
        });
        connect(call, caller, info, timeouts.read(body.path("timeout"), USUAL_RESUMED), body);
    }

    // ---- network, copies, the end --------------------------------------------------------------------------------

    private void network(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        SessionInfo info = asked(caller, call);
        ObjectNode update = call.json();
        if (!Sandboxes.running(info)) {
            throw new E2bError(409, "Sandbox \"" + info.key().id() + "\" is not running");
        }
        Facts facts = Facts.of(info);
        Egress.Asked asked = egress.update(caller, facts.network(), update);
        egress.keep(info.key(), asked);
        sessions.network(info.key(), asked.network());
        sessions.surface(
                info.key(), facts.withNetwork(asked.internet(), asked.given()).kept());
        call.answer(204);
    }

    private void fork(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        SessionInfo info = asked(caller, call);
        ObjectNode body = call.json();
        int count = count(body.path("count"));
        if (!Sandboxes.running(info)) {
            throw new E2bError(409, "Sandbox \"" + info.key().id() + "\" is not running");
        }
        Duration timeout = timeouts.positive(timeouts.read(body.path("timeout"), USUAL));
        Expiry was = info.expiry().orElse(new Expiry(timeout, Expiry.Then.DELETE, false));
        Expiry expiry = new Expiry(timeout, was.then(), was.wakesOnTraffic());
        List<SessionKey> targets =
                Stream.generate(() -> newKey(caller)).limit(count).toList();
        targets.forEach(target -> egress.copy(info.key(), target));
        List<Map<String, Object>> results = new ArrayList<>();
        BiFunction<SessionKey, SessionSpec, SessionSpec> as =
                (target, same) -> same.withExpiry(expiry).withEnv(ofItsOwn(target, same.env()));
        for (Forked forked : sessions.fork(info.key(), targets, as, caller.name())) {
            results.add(result(forked, caller));
        }
        call.answer(201, results);
    }

    private static int count(JsonNode given) {
        if (given.isMissingNode() || given.isNull()) {
            return 1;
        }
        if (!given.isIntegralNumber() || !given.canConvertToInt() || given.asInt() < 1 || given.asInt() > MOST_FORKS) {
            throw new E2bError(400, "count must be a number from 1 to " + MOST_FORKS);
        }
        return given.asInt();
    }

    private static Map<String, String> ofItsOwn(SessionKey target, Map<String, String> env) {
        Map<String, String> own = new LinkedHashMap<>(env);
        own.put(ID_VARIABLE, target.id());
        return own;
    }

    private Map<String, Object> result(Forked forked, Caller caller) {
        return switch (forked) {
            case Forked.Made(var _, Session session) -> {
                try (session) {
                    yield Map.of("sandbox", json.handle(session.info(), caller));
                }
            }
            case Forked.Failed(var _, SandboxException why) ->
                Map.of("error", E2bError.of(why).body());
        };
    }

    private void kill(Call call) {
        SessionInfo info = asked(call);
        sessions.delete(info.key());
        call.answer(204);
    }

    private SessionInfo asked(Call call) {
        return asked(callers.admit(call, Scope.SESSIONS), call);
    }

    private SessionInfo asked(Caller caller, Call call) {
        return sandboxes.get(caller.tenant(), call.path("sandboxID"));
    }
}
