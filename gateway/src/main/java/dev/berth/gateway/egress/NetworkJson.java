package dev.berth.gateway.egress;

import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import tools.jackson.databind.JsonNode;

/** A network as the API has it. Its shape is the contract's; what its texts mean is checked here. */
public final class NetworkJson {
    private NetworkJson() {}

    /** @throws SandboxException {@code invalid}, with everything that is wrong and its place, such as {@code allow[2].to} */
    public static Network read(JsonNode json) {
        List<String> problems = new ArrayList<>();
        List<Rule> rules = new ArrayList<>();
        JsonNode allow = json.path("allow");
        for (int i = 0; i < allow.size(); i++) {
            try {
                rules.add(rule(allow.path(i)));
            } catch (SandboxException e) {
                String place = "allow[" + i + "].";
                errors(e).forEach(error -> problems.add(place + error));
            }
        }
        Caps caps = Caps.DEFAULT;
        try {
            caps = caps(json.path("caps"));
        } catch (SandboxException e) {
            errors(e).forEach(error -> problems.add("caps." + error));
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with(SandboxException.ERRORS, problems);
        }
        Mode mode = Mode.valueOf(json.path("mode").asString().toUpperCase(Locale.ROOT));
        return new Network(
                mode,
                rules,
                list(json.path("deny"), JsonNode::asString),
                list(json.path("secrets"), JsonNode::asString),
                caps);
    }

    private static Rule rule(JsonNode json) {
        return new Rule(
                json.path("to").asString(),
                list(json.path("ports"), JsonNode::asInt),
                list(json.path("methods"), JsonNode::asString),
                list(json.path("paths"), JsonNode::asString));
    }

    private static Caps caps(JsonNode json) {
        Caps usual = Caps.DEFAULT;
        return new Caps(
                json.path("connections").asInt(usual.connections()),
                json.path("bytes").asLong(usual.bytes()),
                json.path("bytesPerSecond").asLong(usual.bytesPerSecond()));
    }

    private static <T> List<T> list(JsonNode json, Function<JsonNode, T> item) {
        List<T> items = new ArrayList<>();
        json.forEach(node -> items.add(item.apply(node)));
        return items;
    }

    /** What a failure says is wrong, one by one. */
    public static List<String> errors(SandboxException refused) {
        return refused.details().get(SandboxException.ERRORS) instanceof List<?> all
                ? all.stream().map(String::valueOf).toList()
                : List.of(refused.getMessage());
    }

    public static Map<String, Object> show(Network network) {
        Caps caps = network.caps();
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("mode", network.mode().toString());
        shown.put("allow", network.allow().stream().map(NetworkJson::show).toList());
        if (!network.deny().isEmpty()) {
            shown.put("deny", network.deny());
        }
        shown.put("secrets", network.secrets());
        shown.put(
                "caps",
                Map.of(
                        "connections", caps.connections(),
                        "bytes", caps.bytes(),
                        "bytesPerSecond", caps.bytesPerSecond()));
        return shown;
    }

    private static Map<String, Object> show(Rule rule) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("to", rule.to());
        shown.put("ports", rule.ports());
        if (!rule.methods().isEmpty()) {
            shown.put("methods", rule.methods());
        }
        if (!rule.paths().isEmpty()) {
            shown.put("paths", rule.paths());
        }
        return shown;
    }
}
