package dev.berth.cli;

import dev.berth.cli.args.UsageException;
import dev.berth.client.Json;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A service that many use.
 *
 * @param prefix how its keys begin
 * @param bindings where they go
 */
record SecretPreset(String name, String prefix, List<Json> bindings) {
    private static final List<SecretPreset> ALL = List.of(
            new SecretPreset("anthropic", "sk-ant-", List.of(header("api.anthropic.com", "x-api-key", "{}"))),
            new SecretPreset("openai", "sk-", List.of(header("api.openai.com", "Authorization", "Bearer {}"))),
            new SecretPreset(
                    "github",
                    "ghp_",
                    List.of(
                            header("api.github.com", "Authorization", "Bearer {}"),
                            // What git sends; GitHub takes any user.
                            to("github.com").with("basic", Json.object().with("user", "x-access-token")))));

    SecretPreset {
        bindings = List.copyOf(bindings);
    }

    static SecretPreset parse(String name) {
        return ALL.stream()
                .filter(preset -> preset.name.equals(name))
                .findFirst()
                .orElseThrow(() -> new UsageException(
                        "there is no '" + name + "' here; take one of " + names() + ", or say --host"));
    }

    static String names() {
        return ALL.stream().map(SecretPreset::name).collect(Collectors.joining(", "));
    }

    private static Json header(String host, String name, String template) {
        return to(host).with("header", Json.object().with("name", name).with("value", template));
    }

    private static Json to(String host) {
        return Json.object().with("hosts", List.of(host));
    }
}
