package dev.berth.cli;

import dev.berth.cli.args.UsageException;
import dev.berth.client.Json;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Services that many use: where their keys go, and how they begin. */
enum SecretPreset {
    ANTHROPIC("sk-ant-", List.of(header("api.anthropic.com", "x-api-key", "{}"))),
    OPENAI("sk-", List.of(header("api.openai.com", "Authorization", "Bearer {}"))),
    GITHUB(
            "ghp_",
            List.of(
                    header("api.github.com", "Authorization", "Bearer {}"),
                    // What git sends; GitHub takes any user.
                    hosts("github.com").with("basic", Json.object().with("user", "x-access-token"))));

    private final String prefix;
    private final List<Json> bindings;

    SecretPreset(String prefix, List<Json> bindings) {
        this.prefix = prefix;
        this.bindings = bindings;
    }

    String prefix() {
        return prefix;
    }

    List<Json> bindings() {
        return bindings;
    }

    static SecretPreset parse(String name) {
        return Arrays.stream(values())
                .filter(preset -> preset.toString().equals(name))
                .findFirst()
                .orElseThrow(() -> new UsageException(
                        "there is no '" + name + "' here; take one of " + names() + ", or say --host"));
    }

    static String names() {
        return Arrays.stream(values()).map(SecretPreset::toString).collect(Collectors.joining(", "));
    }

    private static Json header(String host, String name, String template) {
        return hosts(host).with("header", Json.object().with("name", name).with("value", template));
    }

    private static Json hosts(String host) {
        return Json.object().with("hosts", List.of(host));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
