package dev.berth.gateway.secret;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.session.SessionKey;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PlaceholdersTest {
    private final Placeholders placeholders = new Placeholders(new byte[32]);

    @Test
    void aPlaceholderIsTheSameForTheSameSessionAndSecret() {
        String placeholder = placeholders.of(SessionKey.of("acme", "s"), "TOKEN", "sk-");
        assertThat(placeholder).matches("sk-berth-TOKEN-[a-z2-7]{32}");
        assertThat(new Placeholders(new byte[32]).of(SessionKey.of("acme", "s"), "TOKEN", "sk-"))
                .isEqualTo(placeholder);
    }

    @Test
    void anotherTenantSessionSecretOrKeyHasAnother() {
        byte[] otherKey = new byte[32];
        otherKey[0] = 1;
        Set<String> all = new HashSet<>();
        all.add(end(placeholders.of(SessionKey.of("acme", "s"), "TOKEN", "")));
        all.add(end(placeholders.of(SessionKey.of("acme2", "s"), "TOKEN", "")));
        all.add(end(placeholders.of(SessionKey.of("acme", "s2"), "TOKEN", "")));
        all.add(end(placeholders.of(SessionKey.of("acme", "s"), "TOKEN2", "")));
        all.add(end(placeholders.of(SessionKey.of("acme", "sT"), "OKEN", "")));
        all.add(end(new Placeholders(otherKey).of(SessionKey.of("acme", "s"), "TOKEN", "")));
        assertThat(all).hasSize(6);
    }

    private static String end(String placeholder) {
        return placeholder.substring(placeholder.length() - 32);
    }
}
