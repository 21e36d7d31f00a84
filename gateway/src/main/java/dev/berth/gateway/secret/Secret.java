package dev.berth.gateway.secret;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A secret without its value.
 *
 * @param env the variable in which sandboxes have its placeholder
 * @param prefix what the placeholder begins with, for programs that look at how a key begins
 * @param id that stays whatever it is called
 * @param label what E2B's clients call it, if they made it
 * @param version how many values it has had
 * @param metadata notes of its owner
 */
public record Secret(
        String name,
        String id,
        Optional<String> label,
        long version,
        Map<String, String> metadata,
        String env,
        String prefix,
        List<SecretBinding> bindings,
        Instant createdAt,
        Instant updatedAt,
        Optional<Instant> lastUsedAt,
        long uses) {

    public Secret {
        bindings = List.copyOf(bindings);
        metadata = Map.copyOf(metadata);
    }

    /** What is to be another way; what is null stays as it is. */
    public record Change(
            @Nullable String value,
            @Nullable List<SecretBinding> bindings,
            @Nullable String env,
            @Nullable String prefix) {

        static Change value(String value) {
            return new Change(value, null, null, null);
        }

        /** Without the value. */
        @Override
        public String toString() {
            return "Change[" + bindings + ", " + env + ", " + prefix + "]";
        }
    }

    /** @param made whether there was none of this name before */
    public record Put(Secret secret, boolean made) {}
}
