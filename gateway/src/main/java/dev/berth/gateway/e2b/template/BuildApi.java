package dev.berth.gateway.e2b.template;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.Callers;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Routes;
import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import dev.berth.gateway.e2b.template.TemplateRow.LogRow;
import dev.berth.gateway.e2b.template.TemplateRow.Status;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec;
import java.net.URI;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/** Builds: asking for one, sending its files, saying what it is, and watching it. */
final class BuildApi {
    private static final int MOST_LINES = 100;
    private static final List<String> LEVELS = List.of("debug", "info", "warn", "error");
    private static final int LEAST_MEMORY = 128;
    private static final int MOST_MEMORY = 1 << 20;
    private static final int MOST_CPUS = 256;

    private final TemplateCatalog catalog;
    private final Builds builds;
    private final Uploads uploads;
    private final Callers callers;
    private final Optional<URI> address;

    /** @param address where clients find this server, if that is not where they ask */
    BuildApi(TemplateCatalog catalog, Builds builds, Uploads uploads, Callers callers, Optional<URI> address) {
        this.catalog = catalog;
        this.builds = builds;
        this.uploads = uploads;
        this.callers = callers;
        this.address = address;
    }

    void routes(Routes routes) {
        routes.on("POST", "/v3/templates", this::request)
                .on("POST", "/v2/templates", this::request)
                .on("POST", "/templates", BuildApi::tooOld)
                .on("POST", "/templates/{templateID}", BuildApi::tooOld)
                .on("PUT", "/templates/uploads/{ticket}", this::upload)
                .on("GET", "/templates/{templateID}/files/{hash}", this::files)
                .on("POST", "/v2/templates/{templateID}/builds/{buildID}", this::start)
                .on("POST", "/templates/{templateID}/builds/{buildID}", BuildApi::tooOld)
                .on("GET", "/templates/{templateID}/builds/{buildID}/status", this::status)
                .on("GET", "/templates/{templateID}/builds/{buildID}/logs", this::logs);
    }

    private static void tooOld(Call call) {
        throw new E2bError(
                400,
                "templates are built by steps here, and not of an image that a client pushed; use Template.build of E2B's"
                        + " SDK, or a newer CLI");
    }

    private void request(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        JsonNode body = call.json();
        String text = body.path("name").asString(body.path("alias").asString(""));
        if (text.isBlank()) {
            throw new E2bError(400, "a name has to be given");
        }
        TemplateReference name = TemplateReference.parse(text);
        Set<String> tags = new LinkedHashSet<>();
        name.tag().ifPresent(tags::add);
        tags.addAll(TemplateApi.tags(body));
        if (tags.isEmpty()) {
            tags.add(TemplateReference.DEFAULT_TAG);
        }
        TemplateCatalog.Requested requested = catalog.request(
                tenant,
                name,
                List.copyOf(tags),
                number(body, "cpuCount", 1, MOST_CPUS),
                number(body, "memoryMB", LEAST_MEMORY, MOST_MEMORY));
        TemplateRow template = requested.template();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("templateID", template.id());
        answer.put("buildID", requested.build().toString());
        answer.put("public", template.isPublic());
        answer.put("names", TemplateJson.names(template));
        answer.put("tags", requested.tags());
        answer.put("aliases", template.aliases());
        call.answer(202, answer);
    }

    private static OptionalInt number(JsonNode body, String field, int least, int most) {
        JsonNode value = body.path(field);
        if (value.isMissingNode() || value.isNull()) {
            return OptionalInt.empty();
        }
        if (!value.isIntegralNumber() || value.asLong() < least || value.asLong() > most) {
            throw new E2bError(400, field + " has to be a whole number from " + least + " to " + most);
        }
        return OptionalInt.of(value.asInt());
    }

    private void files(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        TemplateRow _ = catalog.own(tenant, call.path("templateID"));
        String hash = call.path("hash");
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("present", uploads.present(tenant, hash));
        answer.put("url", here(call) + "/templates/uploads/" + uploads.ticket(tenant, hash));
        call.answer(201, answer);
    }

    private String here(Call call) {
        if (address.isPresent()) {
            return address.get().toString().replaceFirst("/+$", "");
        }
        var uri = call.request().getHttpURI();
        return uri.getScheme() + "://" + call.header("Host").orElse(String.valueOf(uri.getAuthority()));
    }

    /** Who sends has no key; the address itself says that he may. */
    private void upload(Call call) {
        Optional<Long> length = call.header("Content-Length")
                .filter(text -> text.matches("[0-9]{1,18}"))
                .map(Long::valueOf);
        uploads.take(call.path("ticket"), length, call.body());
        call.answer(200);
    }

    private void start(Call call) {
        String tenant = callers.admit(call, Scope.TOOLS).tenant();
        TemplateRow template = catalog.own(tenant, call.path("templateID"));
        BuildRow build = catalog.build(template.id(), call.path("buildID"));
        TemplateSpec spec;
        try {
            spec = new BuildRequest(
                            tenant, name -> catalog.resolve(tenant, name).template(), uploads)
                    .read("t-" + template.id(), call.json());
        } catch (E2bError | SandboxException e) {
            // One that is at work already is not the worse for it.
            if (build.status() != Status.WAITING) {
                throw e;
            }
            catalog.builds().fail(build.id(), String.valueOf(e.getMessage()), Optional.empty());
            throw e;
        }
        builds.start(tenant, build, spec);
        call.answer(202);
    }

    private void status(Call call) {
        String tenant = callers.admit(call, Scope.SESSIONS).tenant();
        TemplateRow template = catalog.own(tenant, call.path("templateID"));
        // Before the log: whoever sees that it is done then sees all that it told.
        BuildRow build = catalog.build(template.id(), call.path("buildID"));
        List<LogRow> lines = catalog.builds()
                .logs(
                        build.id(),
                        count(call, "logsOffset", 0, Integer.MAX_VALUE),
                        count(call, "limit", MOST_LINES, MOST_LINES),
                        levels(call));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("templateID", template.id());
        answer.put("buildID", build.id().toString());
        answer.put("status", build.status().text());
        answer.put("logs", List.of());
        answer.put("logEntries", lines.stream().map(TemplateJson::log).toList());
        if (build.status() == TemplateRow.Status.ERROR) {
            Map<String, Object> reason = new LinkedHashMap<>();
            reason.put("message", build.reason().orElse("it failed"));
            build.step().ifPresent(step -> reason.put("step", step));
            answer.put("reason", reason);
        }
        call.answer(200, answer);
    }

    private void logs(Call call) {
        String tenant = callers.admit(call, Scope.SESSIONS).tenant();
        TemplateRow template = catalog.own(tenant, call.path("templateID"));
        BuildRow build = catalog.build(template.id(), call.path("buildID"));
        Optional<Instant> cursor = call.query("cursor")
                .filter(text -> text.matches("[0-9]{1,15}"))
                .map(text -> Instant.ofEpochMilli(Long.parseLong(text)));
        boolean backward = call.query("direction").orElse("forward").equals("backward");
        List<LogRow> lines = catalog.builds()
                .logs(build.id(), cursor, backward, count(call, "limit", MOST_LINES, MOST_LINES), levels(call));
        call.answer(200, Map.of("logs", lines.stream().map(TemplateJson::log).toList()));
    }

    private static int count(Call call, String name, int usual, int most) {
        String text = call.query(name).orElse("");
        return text.matches("[0-9]{1,9}") ? Math.min(most, Integer.parseInt(text)) : usual;
    }

    /** That level and the graver ones. */
    private static List<String> levels(Call call) {
        int least = LEVELS.indexOf(call.query("level").orElse("debug").toLowerCase(Locale.ROOT));
        return LEVELS.subList(Math.max(0, least), LEVELS.size());
    }
}
