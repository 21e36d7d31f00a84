package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.UsageHistory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What sandboxes use, as it was measured every few seconds. */
final class MetricsApi {
    private static final int MOST_AT_ONCE = 100;

    private final Sessions sessions;
    private final Sandboxes sandboxes;
    private final Callers callers;

    MetricsApi(Sessions sessions, Sandboxes sandboxes, Callers callers) {
        this.sessions = sessions;
        this.sandboxes = sandboxes;
        this.callers = callers;
    }

    void routes(Routes routes) {
        routes.on("GET", "/sandboxes/metrics", this::many).on("GET", "/sandboxes/{sandboxID}/metrics", this::one);
    }

    private void one(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        SessionInfo info = sandboxes.get(caller.tenant(), call.path("sandboxID"));
        Optional<Instant> start = call.query("start").map(MetricsApi::seconds);
        Optional<Instant> end = call.query("end").map(MetricsApi::seconds);
        if (start.isPresent() && end.isPresent() && start.get().isAfter(end.get())) {
            throw new E2bError(400, "start must not be after end");
        }
        call.answer(
                200,
                metrics(info).stream()
                        .filter(metric -> start.filter(metric.at()::isBefore).isEmpty()
                                && end.filter(metric.at()::isAfter).isEmpty())
                        .map(Metric::json)
                        .toList());
    }

    private void many(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        String[] ids = call.query("sandbox_ids").orElse("").split(",");
        if (ids.length > MOST_AT_ONCE) {
            throw new E2bError(400, "at most " + MOST_AT_ONCE + " sandboxes at a time");
        }
        Map<String, Object> newest = new LinkedHashMap<>();
        for (String id : ids) {
            Place.id(id)
                    .flatMap(plain -> sessions.find(SessionKey.of(caller.tenant(), plain)))
                    .map(this::metrics)
                    .filter(metrics -> !metrics.isEmpty())
                    .ifPresent(metrics -> newest.put(id, metrics.getLast().json()));
        }
        call.answer(200, Map.of("sandboxes", newest));
    }

    private record Metric(Instant at, Map<String, Object> json) {}

    /** Processor time is a sum, so what was used between two samples is their difference. */
    private List<Metric> metrics(SessionInfo info) {
        List<Metric> metrics = new ArrayList<>();
        UsageHistory.Sample before = null;
        for (UsageHistory.Sample sample : sessions.samples(info.key()).samples()) {
            double used = before == null ? 0 : share(before, sample);
            metrics.add(new Metric(sample.at(), json(info, sample, used)));
            before = sample;
        }
        return metrics;
    }

    private static double share(UsageHistory.Sample before, UsageHistory.Sample now) {
        Duration used = now.usage().cpuTime().minus(before.usage().cpuTime());
        long passed = Math.max(1, Duration.between(before.at(), now.at()).toMillis());
        return Math.max(0, Math.round(10_000.0 * used.toMillis() / passed) / 100.0);
    }

    private static Map<String, Object> json(SessionInfo info, UsageHistory.Sample sample, double cpuUsedPct) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("timestamp", SandboxJson.time(sample.at()));
        json.put("timestampUnix", sample.at().getEpochSecond());
        json.put("cpuCount", SandboxJson.cpus(info));
        json.put("cpuUsedPct", cpuUsedPct);
        json.put("memUsed", sample.usage().memoryBytes());
        json.put("memTotal", info.limits().memoryBytes());
        json.put("memCache", sample.usage().cacheBytes());
        json.put("diskUsed", sample.usage().diskBytes());
        json.put("diskTotal", info.limits().diskBytes());
        return json;
    }

    private static Instant seconds(String text) {
        if (!text.matches("[0-9]{1,12}")) {
            throw new E2bError(400, "start and end are seconds since 1970");
        }
        return Instant.ofEpochSecond(Long.parseLong(text));
    }
}
