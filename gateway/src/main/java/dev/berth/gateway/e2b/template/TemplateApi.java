package dev.berth.gateway.e2b.template;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.Callers;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Routes;
import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiPredicate;
import tools.jackson.databind.JsonNode;

/** Templates that are there: lists, names, tags, who may use them, and their end. */
final class TemplateApi {
    private static final String NEXT = "X-Next-Token";
    private static final int MOST = 100;
    private static final int MOST_TAGS = 50;

    private final TemplateCatalog catalog;
    private final Callers callers;
    private final TemplateJson json;

    TemplateApi(TemplateCatalog catalog, Callers callers, TemplateJson json) {
        this.catalog = catalog;
        this.callers = callers;
        this.json = json;
    }

    void routes(Routes routes, BiPredicate<String, String> snapshots) {
        routes.on("GET", "/templates", this::list)
                .on("GET", "/v2/templates", this::page)
                .on("GET", "/templates/aliases/{alias}", this::alias)
                .on("POST", "/templates/tags", this::assignTags)
                .on("DELETE", "/templates/tags", this::removeTags)
                .on("GET", "/templates/{templateID}", this::get)
                .on("GET", "/templates/{templateID}/tags", this::tags)
                .on("PATCH", "/templates/{templateID}", this::update)
                .on("PATCH", "/v2/templates/{templateID}", this::update)
                .on("DELETE", "/templates/{templateID}", call -> delete(call, snapshots));
    }

    private void list(Call call) {
        call.answer(200, all(callers.admit(call, Scope.SESSIONS).tenant()));
    }

    /** The tenant's own first, the newest of them first; of what the operator has for everybody, the newest version. */
    private List<Map<String, Object>> all(String tenant) {
        List<Map<String, Object>> all = new ArrayList<>();
        catalog.list(tenant).forEach(row -> all.add(json.template(row)));
        Set<String> names = new HashSet<>();
        catalog.shared().stream().filter(info -> names.add(info.name())).forEach(info -> all.add(json.template(info)));
        return all;
    }

    private void page(Call call) {
        List<Map<String, Object>> all = all(callers.admit(call, Scope.SESSIONS).tenant());
        int limit = limit(call);
        String token = call.query("nextToken").orElse("");
        int from = 0;
        for (int i = 0; i < all.size(); i++) {
            if (token.equals(all.get(i).get("templateID"))) {
                from = i + 1;
            }
        }
        List<Map<String, Object>> some = all.subList(from, Math.min(all.size(), from + limit));
        if (from + limit < all.size()) {
            call.header(NEXT, String.valueOf(some.getLast().get("templateID")));
        }
        call.answer(200, some);
    }

    private void get(Call call) {
        TemplateRow row = catalog.own(callers.admit(call, Scope.SESSIONS).tenant(), call.path("templateID"));
        int limit = limit(call);
        List<BuildRow> builds = catalog.builds()
                .list(row.id(), limit + 1, call.query("nextToken").map(TemplateApi::time));
        List<BuildRow> some = builds.subList(0, Math.min(limit, builds.size()));
        if (builds.size() > limit) {
            call.header(NEXT, some.getLast().createdAt().toString());
        }
        Map<String, Object> answer = json.template(row);
        answer.put("builds", some.stream().map(json::build).toList());
        call.answer(200, answer);
    }

    /** Whether a name is taken: 403 says so of one that is for everybody and not the caller's. */
    private void alias(Call call) {
        String tenant = callers.admit(call, Scope.SESSIONS).tenant();
        TemplateReference reference = TemplateReference.parse(call.path("alias"));
        Optional<TemplateRow> row = catalog.visible(tenant, reference);
        if (row.isPresent() && row.get().tenant().equals(tenant)) {
            call.answer(
                    200,
                    Map.of("templateID", row.get().id(), "public", row.get().isPublic()));
        } else if (row.isPresent() || catalog.shared(reference).isPresent()) {
            throw new E2bError(403, "You don't have access to this template alias");
        } else {
            throw catalog.missing(reference);
        }
    }

    private void tags(Call call) {
        TemplateRow row = catalog.own(callers.admit(call, Scope.SESSIONS).tenant(), call.path("templateID"));
        call.answer(
                200,
                catalog.tags(row).stream()
                        .map(tag -> Map.of(
                                "tag", tag.tag(),
                                "buildID", tag.build().toString(),
                                "createdAt", tag.createdAt().toString()))
                        .toList());
    }

    private void assignTags(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        JsonNode body = call.json();
        String target = body.path("target").asString("");
        TemplateRow row = catalog.own(tenant, target);
        List<String> tags = tags(body);
        if (tags.isEmpty()) {
            throw new E2bError(400, "at least one tag has to be given");
        }
        String tag = TemplateReference.parse(target).tag().orElse(TemplateReference.DEFAULT_TAG);
        UUID build = catalog.builds()
                .tagged(row.id(), tag)
                .orElseThrow(() -> new E2bError(404, "the template has no build '" + tag + "' that is ready"))
                .id();
        catalog.tag(row, tags, build);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("buildID", build.toString());
        answer.put("tags", tags);
        call.answer(201, answer);
    }

    private void removeTags(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        JsonNode body = call.json();
        TemplateRow row = catalog.own(tenant, body.path("name").asString(""));
        List<String> tags = tags(body);
        if (tags.isEmpty()) {
            throw new E2bError(400, "at least one tag has to be given");
        }
        int _ = catalog.untag(row, tags);
        call.answer(204);
    }

    static List<String> tags(JsonNode body) {
        Set<String> tags = new LinkedHashSet<>();
        body.path("tags").forEach(tag -> tags.add(TemplateReference.tag(tag.asString(""))));
        if (tags.size() > MOST_TAGS) {
            throw new E2bError(400, "at most " + MOST_TAGS + " tags can be given");
        }
        return List.copyOf(tags);
    }

    private void update(Call call) {
        TemplateRow row = catalog.own(callers.admit(call, Scope.TOOLS).tenant(), call.path("templateID"));
        JsonNode open = call.json().path("public");
        if (open.isBoolean()) {
            catalog.publish(row, open.asBoolean());
        }
        call.answer(200, Map.of("names", TemplateJson.names(row)));
    }

    private void delete(Call call, BiPredicate<String, String> snapshots) {
        String tenant = callers.admit(call, Scope.SESSIONS).tenant();
        String name = call.path("templateID");
        if (!snapshots.test(tenant, name)) {
            catalog.delete(catalog.own(tenant, name));
        }
        call.answer(204);
    }

    private static int limit(Call call) {
        String text = call.query("limit").orElse(Integer.toString(MOST));
        if (!text.matches("[0-9]{1,4}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > MOST) {
            throw new E2bError(400, "limit must be between 1 and " + MOST);
        }
        return Integer.parseInt(text);
    }

    private static Instant time(String token) {
        try {
            return Instant.parse(token);
        } catch (DateTimeException e) {
            throw new E2bError(400, "Invalid next token");
        }
    }
}
