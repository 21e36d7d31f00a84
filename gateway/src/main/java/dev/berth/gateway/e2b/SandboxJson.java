package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.Expiry;
import dev.berth.session.SessionInfo;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sandboxes as E2B's API shows them. */
final class SandboxJson {
    /** The version of E2B's daemon that we answer as: the one from which on its clients use everything. */
    static final String ENVD_VERSION = "0.6.13";

    /** What E2B itself says everywhere since nothing depends on it any more. */
    private static final String CLIENT = "6532622b";

    private static final long MIB = 1 << 20;
    /** For a sandbox that nothing ends: E2B has none, and its clients want a date. */
    private static final Instant NEVER = Instant.parse("9999-12-31T23:59:59Z");

    private final Tokens tokens;
    private final Egress egress;
    private final VolumeBook volumes;
    private final String domain;

    SandboxJson(Tokens tokens, Egress egress, VolumeBook volumes, String domain) {
        this.tokens = tokens;
        this.egress = egress;
        this.volumes = volumes;
        this.domain = domain;
    }

    /** What a client needs to use it, as far as it may. */
    Map<String, Object> handle(SessionInfo info, Caller caller) {
        Facts facts = Facts.of(info);
        Map<String, Object> json = names(info, facts);
        json.put("domain", domain);
        if (facts.secure() && caller.may(Scope.TOOLS)) {
            json.put("envdAccessToken", tokens.envd(info.key()));
        }
        if (!facts.publicTraffic() && caller.may(Scope.TOOLS)) {
            json.put("trafficAccessToken", tokens.traffic(info.key()));
        }
        return json;
    }

    /** One of a list. */
    Map<String, Object> listed(SessionInfo info) {
        Map<String, Object> json = names(info, Facts.of(info));
        boolean running = Sandboxes.running(info);
        json.put("startedAt", time(info.times().createdAt()));
        json.put("endAt", time(end(info, running)));
        json.put("state", running ? "running" : "paused");
        json.put("cpuCount", cpus(info));
        json.put("memoryMB", info.limits().memoryBytes() / MIB);
        json.put("diskSizeMB", info.limits().diskBytes() / MIB);
        json.put("metadata", info.metadata());
        json.put("volumeMounts", volumes.shown(info.mounts()));
        return json;
    }

    /**
     * All that is known of one and may be told: its token runs commands, which takes {@code tools}, and the values of its
     * headers are keys, which are {@code secrets}.
     */
    Map<String, Object> detail(SessionInfo info, Caller caller) {
        Facts facts = Facts.of(info);
        Map<String, Object> json = listed(info);
        json.put("domain", domain);
        if (facts.secure() && caller.may(Scope.TOOLS)) {
            json.put("envdAccessToken", tokens.envd(info.key()));
        }
        json.put("allowInternetAccess", facts.internet().orElse(null));
        facts.network().ifPresent(network -> json.put("network", egress.shown(caller, info.key(), network)));
        Expiry expiry = info.expiry().orElse(null);
        if (expiry != null) {
            Map<String, Object> lifecycle = new LinkedHashMap<>();
            lifecycle.put("onTimeout", expiry.then() == Expiry.Then.DELETE ? "kill" : "pause");
            lifecycle.put("autoResume", expiry.wakesOnTraffic());
            json.put("lifecycle", lifecycle);
        }
        return json;
    }

    private static Map<String, Object> names(SessionInfo info, Facts facts) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("sandboxID", info.key().id());
        json.put("templateID", facts.templateId());
        facts.alias().ifPresent(alias -> json.put("alias", alias));
        json.put("clientID", CLIENT);
        json.put("envdVersion", ENVD_VERSION);
        return json;
    }

    static int cpus(SessionInfo info) {
        double cpus = info.limits().cpus();
        return cpus == 0 ? Runtime.getRuntime().availableProcessors() : (int) Math.ceil(cpus);
    }

    /** Of one that sleeps, when it fell asleep. */
    private static Instant end(SessionInfo info, boolean running) {
        if (running) {
            return info.expiresAt().orElse(NEVER);
        }
        return info.times()
                .stoppedAt()
                .or(() -> info.times().pausedAt())
                .orElse(info.times().updatedAt());
    }

    static String time(Instant instant) {
        return instant.truncatedTo(ChronoUnit.MILLIS).toString();
    }
}
