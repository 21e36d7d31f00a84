package dev.berth.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A secret of a tenant, without its value, which nobody is told.
 *
 * @param env the variable in which sandboxes have its placeholder
 * @param hosts all that it may go to
 * @param uses how often it was put into a request
 */
public record Secret(
        String name,
        String env,
        List<String> hosts,
        Instant updatedAt,
        Optional<Instant> lastUsedAt,
        long uses,
        Json json) {
    static Secret of(Json json) {
        return new Secret(
                json.get("name").text(),
                json.get("env").text(),
                json.get("bindings").items().stream()
                        .flatMap(binding -> binding.get("hosts").items().stream())
                        .map(Json::text)
                        .distinct()
                        .toList(),
                json.get("updated_at").time().orElse(Instant.EPOCH),
                json.get("last_used_at").time(),
                json.get("uses").whole(),
                json);
    }
}
