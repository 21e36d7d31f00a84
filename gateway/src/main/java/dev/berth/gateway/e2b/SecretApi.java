package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.secret.Secret;
import dev.berth.gateway.secret.Secrets;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Secrets, as E2B's clients keep them. They are the tenant's secrets: those that were made here are bound to no host, and
 * go where the headers of a sandbox name them. Values go in and never come out.
 */
final class SecretApi {
    private static final String RESERVED = "sec_";
    private static final int LONGEST_NAME = 128;
    private static final int MOST_NOTES = 32;
    private static final int LONGEST_KEY = 128;
    private static final int LONGEST_NOTE = 1024;
    private static final int MOST_NOTE_BYTES = 8192;
    private static final int MOST = 100;

    private final Secrets secrets;
    private final Callers callers;

    SecretApi(Secrets secrets, Callers callers) {
        this.secrets = secrets;
        this.callers = callers;
    }

    void routes(Routes routes) {
        routes.on("GET", "/secrets", this::list)
                .on("POST", "/secrets", this::make)
                .on("GET", "/secrets/{secretID}", this::get)
                .on("POST", "/secrets/{secretID}", this::change)
                .on("DELETE", "/secrets/{secretID}", this::remove);
    }

    private void list(Call call) {
        String tenant = callers.admit(call, Scope.SECRETS).tenant();
        int limit = limit(call);
        List<Secret> found = secrets.page(tenant, call.query("nextToken").orElse(""), limit + 1);
        List<Secret> page = found.subList(0, Math.min(limit, found.size()));
        if (found.size() > limit) {
            call.header("X-Next-Token", page.getLast().id());
        }
        call.answer(200, page.stream().map(SecretApi::show).toList());
    }

    private void make(Call call) {
        String tenant = callers.admit(call, Scope.SECRETS).tenant();
        ObjectNode body = call.json();
        String name = text(body, "name").toLowerCase(Locale.ROOT);
        if (name.isBlank()
                || name.length() > LONGEST_NAME
                || name.startsWith(RESERVED)
                || name.chars().anyMatch(c -> c == '{' || c == '}' || c == '/' || Character.isISOControl(c))) {
            throw new E2bError(
                    400,
                    "a secret's name must have 1 to " + LONGEST_NAME + " characters, without {, }, / and control"
                            + " characters, and must not begin with " + RESERVED);
        }
        Secret made =
                secrets.make(tenant, name, text(body, "value"), notes(body).orElse(Map.of()));
        call.answer(201, show(made));
    }

    private void get(Call call) {
        String tenant = callers.admit(call, Scope.SECRETS).tenant();
        call.answer(200, show(find(tenant, call.path("secretID"))));
    }

    private void change(Call call) {
        String tenant = callers.admit(call, Scope.SECRETS).tenant();
        ObjectNode body = call.json();
        Secret before = find(tenant, call.path("secretID"));
        call.answer(200, show(secrets.change(tenant, before.id(), text(body, "value"), notes(body))));
    }

    private void remove(Call call) {
        String tenant = callers.admit(call, Scope.SECRETS).tenant();
        secrets.remove(tenant, find(tenant, call.path("secretID")).name());
        call.answer(204);
    }

    private Secret find(String tenant, String idOrName) {
        return secrets.known(tenant, idOrName)
                .orElseThrow(() -> new E2bError(404, "Secret \"" + idOrName + "\" not found"));
    }

    private static Map<String, Object> show(Secret secret) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("secretID", secret.id());
        shown.put("name", secret.label().orElse(secret.name()));
        shown.put("currentVersion", secret.version());
        shown.put("metadata", secret.metadata());
        shown.put("createdAt", secret.createdAt().toString());
        shown.put("updatedAt", secret.updatedAt().toString());
        return shown;
    }

    private static int limit(Call call) {
        String text = call.query("limit").orElse(Integer.toString(MOST));
        int limit = text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : 0;
        if (limit < 1) {
            throw new E2bError(400, "limit must be a number from 1 to " + MOST);
        }
        return Math.min(limit, MOST);
    }

    private static String text(ObjectNode body, String name) {
        if (!body.path(name).isString()) {
            throw new E2bError(400, name + " must be a text");
        }
        return body.path(name).asString();
    }

    private static Optional<Map<String, String>> notes(ObjectNode body) {
        JsonNode given = body.path("metadata");
        if (given.isMissingNode() || given.isNull()) {
            return Optional.empty();
        }
        Map<String, String> notes = new LinkedHashMap<>();
        int bytes = 0;
        for (Map.Entry<String, JsonNode> note : given.properties()) {
            int key = length(note.getKey());
            int value = note.getValue().isString() ? length(note.getValue().asString()) : Integer.MAX_VALUE;
            if (key > LONGEST_KEY || value > LONGEST_NOTE) {
                throw new E2bError(
                        400,
                        "metadata has keys of at most " + LONGEST_KEY + " and texts of at most " + LONGEST_NOTE
                                + " bytes");
            }
            bytes += key + value;
            notes.put(note.getKey(), note.getValue().asString());
        }
        if (!given.isObject() || notes.size() > MOST_NOTES || bytes > MOST_NOTE_BYTES) {
            throw new E2bError(
                    400,
                    "metadata must be an object of at most " + MOST_NOTES + " texts, with " + MOST_NOTE_BYTES
                            + " bytes in all");
        }
        return Optional.of(notes);
    }

    private static int length(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }
}
