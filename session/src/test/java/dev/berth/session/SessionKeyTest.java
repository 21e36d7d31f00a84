package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SessionKeyTest {
    @Test
    void namesSlackConversations() {
        assertThat(SessionKey.slackThread("acme", "C123", "1712.0001").id()).isEqualTo("C123:1712.0001");
        assertThat(SessionKey.slackDirect("acme", "U42").id()).isEqualTo("dm:U42");
    }

    @Test
    void theNameOfASandboxFollowsFromTheKeyForEver() {
        assertThat(SessionKey.of("acme", "C123:1712.0001").sandboxId().value())
                .isEqualTo("c123-1712-0001-dt7nf8kv3f71me549p0c");
    }

    @Test
    void differentKeysHaveDifferentSandboxes() {
        Set<String> names = new HashSet<>();
        String[] ids = {"a:b", "a.b", "A:b", "a-b", "a".repeat(200), "a".repeat(199), "a".repeat(199) + "b"};
        for (String id : ids) {
            names.add(SessionKey.of("one", id).sandboxId().value());
            names.add(SessionKey.of("two", id).sandboxId().value());
        }
        assertThat(names).hasSize(2 * ids.length).allMatch(name -> name.length() <= 63);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "..", "a/b", "a b", "a\nb", "ä", "-a", ":a", "a\0", "../../etc"})
    void refusesIdsOutsideOfTheAlphabet(String id) {
        assertFails(ErrorCode.INVALID, () -> SessionKey.of("acme", id));
    }

    @Test
    void refusesIdsThatAreTooLong() {
        assertThat(SessionKey.of("acme", "a".repeat(200)).id()).hasSize(200);
        assertFails(ErrorCode.INVALID, () -> SessionKey.of("acme", "a".repeat(201)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "A", "a_b", "a/b", "-a", "a b"})
    void refusesOddTenants(String tenant) {
        assertFails(ErrorCode.INVALID, () -> SessionKey.of(tenant, "a"));
    }
}
