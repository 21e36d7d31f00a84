package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionQuery;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Lists of sandboxes, by state, metadata, template and time, page by page. */
final class ListApi {
    /** The first API had no pages. */
    private static final int MOST_FIRST = 1000;

    private final Sessions sessions;
    private final Callers callers;
    private final TemplateNames templates;
    private final SandboxJson json;

    ListApi(Sessions sessions, Callers callers, TemplateNames templates, SandboxJson json) {
        this.sessions = sessions;
        this.callers = callers;
        this.templates = templates;
        this.json = json;
    }

    void routes(Routes routes) {
        routes.on("GET", "/v2/sandboxes", this::list).on("GET", "/sandboxes", this::listFirst);
    }

    private void list(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        Page page = Page.read(call);
        Set<SessionState> states = states(call.query("state"));
        SessionQuery query = SessionQuery.of(caller.tenant())
                .withChannel(Sandboxes.CHANNEL)
                .withStates(states)
                .withMetadata(metadata(call.query("metadata")))
                .withOrder(order(call.query("order")))
                .withLimit(page.limit() + 1);
        if (call.query("startedAfter").isPresent()) {
            query = query.withStartedAfter(time(call.query("startedAfter").get()));
        }
        if (call.query("template").filter(name -> !name.isEmpty()).isPresent()) {
            query = query.withTemplate(templates
                    .resolve(caller.tenant(), call.query("template").get())
                    .template());
        }
        if (page.after().isPresent()) {
            query = query.withAfter(page.after().get());
        }
        List<SessionInfo> found = sessions.list(query);
        List<SessionInfo> shown = page.cut(found);
        if (found.size() > shown.size()) {
            SessionInfo last = shown.getLast();
            call.header(Page.NEXT, Page.token(SessionQuery.Cursor.of(last)));
        }
        if (states.contains(SessionState.ACTIVE)) {
            call.header("X-Total-Running", Long.toString(sessions.count(query.withStates(Sandboxes.RUNNING))));
        }
        call.answer(200, shown.stream().map(json::listed).toList());
    }

    /** As the first clients ask for it: those that run, all of them at once. */
    private void listFirst(Call call) {
        Caller caller = callers.admit(call, Scope.SESSIONS);
        SessionQuery query = SessionQuery.of(caller.tenant())
                .withChannel(Sandboxes.CHANNEL)
                .withStates(Sandboxes.RUNNING)
                .withMetadata(metadata(call.query("metadata")))
                .withLimit(MOST_FIRST);
        call.answer(200, sessions.list(query).stream().map(json::listed).toList());
    }

    private static Set<SessionState> states(Optional<String> text) {
        Set<SessionState> states = EnumSet.noneOf(SessionState.class);
        for (String state :
                text.filter(it -> !it.isEmpty()).orElse("running,paused").split(",", -1)) {
            switch (state) {
                case "running" -> states.addAll(Sandboxes.RUNNING);
                case "paused" -> states.addAll(Sandboxes.PAUSED);
                default -> throw new E2bError(400, "state must be 'running' or 'paused'");
            }
        }
        return states;
    }

    private static SessionQuery.Order order(Optional<String> text) {
        return switch (text.orElse("desc")) {
            case "asc" -> SessionQuery.Order.OLDEST_FIRST;
            case "desc" -> SessionQuery.Order.NEWEST_FIRST;
            default -> throw new E2bError(400, "order must be 'asc' or 'desc'");
        };
    }

    private static Instant time(String text) {
        try {
            return Moments.read(text);
        } catch (DateTimeException e) {
            throw new E2bError(400, "startedAfter must be a time as RFC 3339 has it");
        }
    }

    /** Clients encode the pairs, then what they make of them, and the query is encoded once more. */
    static Map<String, String> metadata(Optional<String> text) {
        if (text.isEmpty() || text.get().isEmpty()) {
            return Map.of();
        }
        Map<String, String> metadata = new LinkedHashMap<>();
        try {
            for (String pair : decoded(text.get()).split("&", -1)) {
                int equals = pair.indexOf('=');
                if (equals < 0) {
                    throw new E2bError(400, "metadata must be pairs of key=value");
                }
                metadata.put(decoded(pair.substring(0, equals)), decoded(pair.substring(equals + 1)));
            }
        } catch (IllegalArgumentException e) {
            throw new E2bError(400, "metadata is not encoded as it should be");
        }
        return metadata;
    }

    private static String decoded(String text) {
        String decoded = URLDecoder.decode(text, StandardCharsets.UTF_8);
        if (decoded.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("no text of a database has such a character");
        }
        return decoded;
    }
}
