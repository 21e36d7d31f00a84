package dev.berth.gateway.secret;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A secret without its value.
 *
 * @param env the variable in which sandboxes have its placeholder
 * @param prefix what the placeholder begins with, for programs that look at how a key begins
 */
public record Secret(
        String name,
        String env,
        String prefix,
        List<SecretBinding> bindings,
        Instant createdAt,
        Instant updatedAt,
        Optional<Instant> lastUsedAt,
        long uses) {

    public Secret {
        bindings = List.copyOf(bindings);
    }

    /** What is to be another way; what is null stays as it is. */
    public record Change(
            @Nullable String value,
            @Nullable List<SecretBinding> bindings,
            @Nullable String env,
            @Nullable String prefix) {

        /** Without the value. */
        @Override
        public String toString() {
            return "Change[" + bindings + ", " + env + ", " + prefix + "]";
        }
    }

    /** @param made whether there was none of this name before */
    public record Put(Secret secret, boolean made) {}
}
