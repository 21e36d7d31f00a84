package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionInfo;
import dev.berth.session.Sessions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;

/** What happened to a sandbox: the events of its session, as lines of a log. */
final class LogApi {
    private static final int MOST = 1000;
    private static final List<String> LEVELS = List.of("debug", "info", "warn", "error");

    private final Sessions sessions;
    private final Sandboxes sandboxes;
    private final Callers callers;

    LogApi(Sessions sessions, Sandboxes sandboxes, Callers callers) {
        this.sessions = sessions;
        this.sandboxes = sandboxes;
        this.callers = callers;
    }

    void routes(Routes routes) {
        routes.on("GET", "/v2/sandboxes/{sandboxID}/logs", this::logs)
                .on("GET", "/sandboxes/{sandboxID}/logs", this::logsFirst);
    }

    private void logs(Call call) {
        SessionInfo info = asked(call);
        boolean backward = switch (call.query("direction").orElse("forward")) {
            case "forward" -> false;
            case "backward" -> true;
            default -> throw new E2bError(400, "direction must be 'forward' or 'backward'");
        };
        int limit = limit(call);
        Predicate<Entry> wanted = wanted(call);
        long cursor = call.query("cursor").map(LogApi::number).orElse(backward ? Long.MAX_VALUE : 0L);
        List<Entry> found = entries(info).stream()
                .filter(entry -> backward
                        ? entry.at().toEpochMilli() <= cursor
                        : entry.at().toEpochMilli() >= cursor)
                .filter(wanted)
                .sorted(backward ? Comparator.comparing(Entry::at).reversed() : Comparator.comparing(Entry::at))
                .limit(limit)
                .toList();
        call.answer(200, Map.of("logs", found.stream().map(Entry::json).toList()));
    }

    /** As the command line of E2B asks for it. */
    private void logsFirst(Call call) {
        SessionInfo info = asked(call);
        long start = call.query("start").map(LogApi::number).orElse(0L);
        List<Entry> found = entries(info).stream()
                .filter(entry -> entry.at().toEpochMilli() >= start)
                .limit(limit(call))
                .toList();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("logs", found.stream().map(Entry::line).toList());
        json.put("logEntries", found.stream().map(Entry::json).toList());
        call.answer(200, json);
    }

    private SessionInfo asked(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        return sandboxes.get(caller.tenant(), call.path("sandboxID"));
    }

    private record Entry(Instant at, String level, String message, Map<String, String> fields) {
        static Entry of(LoggedEvent event) {
            Map<String, String> fields = new LinkedHashMap<>();
            fields.put("actor", event.actor());
            event.data().forEach((name, value) -> fields.put(name, String.valueOf(value)));
            boolean bad = event.type().endsWith(".failed") || event.type().endsWith(".lost");
            return new Entry(event.at(), bad ? "error" : "info", event.type(), fields);
        }

        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("timestamp", SandboxJson.time(at));
            json.put("level", level);
            json.put("message", message);
            json.put("fields", fields);
            return json;
        }

        /** E2B's lines are JSON themselves, which its command line takes apart. */
        Map<String, Object> line() {
            Map<String, Object> line = new LinkedHashMap<>(fields);
            line.put("level", level);
            line.put("message", message);
            line.put("timestamp", SandboxJson.time(at));
            return Map.of("timestamp", SandboxJson.time(at), "line", Json.MAPPER.writeValueAsString(line));
        }
    }

    private List<Entry> entries(SessionInfo info) {
        List<Entry> entries = new ArrayList<>();
        long after = 0;
        List<LoggedEvent> page = sessions.events().read(info.key(), after, MOST);
        while (!page.isEmpty()) {
            page.forEach(event -> entries.add(Entry.of(event)));
            after = page.getLast().seq();
            page = sessions.events().read(info.key(), after, MOST);
        }
        return entries;
    }

    private static Predicate<Entry> wanted(Call call) {
        int least = call.query("level").map(LogApi::level).orElse(0);
        String search = call.query("search").orElse("").toLowerCase(Locale.ROOT);
        return entry -> LEVELS.indexOf(entry.level()) >= least
                && entry.message().toLowerCase(Locale.ROOT).contains(search);
    }

    private static int level(String text) {
        if (!LEVELS.contains(text)) {
            throw new E2bError(400, "level must be one of " + String.join(", ", LEVELS));
        }
        return LEVELS.indexOf(text);
    }

    private static int limit(Call call) {
        long limit = call.query("limit").map(LogApi::number).orElse((long) MOST);
        return (int) Math.min(limit, MOST);
    }

    private static long number(String text) {
        if (!text.matches("[0-9]{1,15}")) {
            throw new E2bError(400, "cursor, start and limit are whole numbers");
        }
        return Long.parseLong(text);
    }
}
