package dev.berth.gateway.e2b;

import dev.berth.session.SessionInfo;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What is known of a sandbox that only E2B's clients care for. The session keeps it, as what its surface said of it.
 *
 * @param secure whether commands and files need a token; older clients made sandboxes that do not
 * @param templateId as it was asked for
 * @param internet whether what is public can be reached, if anybody said so
 * @param network the network as it was given
 */
public record Facts(
        boolean secure,
        String templateId,
        Optional<String> alias,
        Optional<Boolean> internet,
        Optional<ObjectNode> network) {

    public static Facts of(SessionInfo info) {
        Map<String, String> kept = info.surface();
        return new Facts(
                !"false".equals(kept.get("secure")),
                kept.getOrDefault("template", info.template()),
                Optional.ofNullable(kept.get("alias")),
                Optional.ofNullable(kept.get("internet")).map(Boolean::valueOf),
                Optional.ofNullable(kept.get("network")).map(text -> (ObjectNode) Json.MAPPER.readTree(text)));
    }

    Map<String, String> kept() {
        Map<String, String> kept = new HashMap<>();
        kept.put("secure", Boolean.toString(secure));
        kept.put("template", templateId);
        alias.ifPresent(name -> kept.put("alias", name));
        internet.ifPresent(allowed -> kept.put("internet", allowed.toString()));
        network.ifPresent(given -> kept.put("network", given.toString()));
        return kept;
    }

    Facts withNetwork(Optional<Boolean> newInternet, Optional<ObjectNode> newNetwork) {
        return new Facts(secure, templateId, alias, newInternet, newNetwork);
    }

    /** Whether anybody may use its ports. */
    public boolean publicTraffic() {
        return network.map(it -> it.path("allowPublicTraffic").asBoolean(true)).orElse(true);
    }

    /** What its servers are to see as the host that was asked for, with {@code ${PORT}} for the port. */
    public Optional<String> maskedHost() {
        return network.map(it -> it.path("maskRequestHost"))
                .filter(JsonNode::isString)
                .map(JsonNode::asString)
                .filter(host -> !host.isEmpty());
    }
}
