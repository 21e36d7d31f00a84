package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SignatureTest {
    private static final String TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";

    private static Signature signature(
            String path, Signature.Operation operation, Optional<String> expires, String value) {
        return new Signature(path, operation, "user", expires, value);
    }

    /** The vector of E2B's own tests. */
    @Test
    void isTheOneThatClientsMake() {
        String value = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E";
        assertThat(signature("hello.txt", Signature.Operation.READ, Optional.empty(), value)
                        .madeWith(TOKEN))
                .isTrue();
        assertThat(signature("hello.txt", Signature.Operation.WRITE, Optional.empty(), value)
                        .madeWith(TOKEN))
                .isFalse();
        assertThat(signature("hello.tx", Signature.Operation.READ, Optional.empty(), value)
                        .madeWith(TOKEN))
                .isFalse();
        assertThat(signature("hello.txt", Signature.Operation.READ, Optional.of("1"), value)
                        .madeWith(TOKEN))
                .isFalse();
        assertThat(signature("hello.txt", Signature.Operation.READ, Optional.empty(), value)
                        .madeWith(TOKEN + "x"))
                .isFalse();
        assertThat(signature("hello.txt", Signature.Operation.READ, Optional.empty(), value + "=")
                        .madeWith(TOKEN))
                .isFalse();
    }

    @Test
    void isOverWhenItsTimeIs() {
        Instant now = Instant.ofEpochSecond(1000);
        assertThat(signature("", Signature.Operation.READ, Optional.empty(), "").expired(now))
                .isFalse();
        assertThat(signature("", Signature.Operation.READ, Optional.of("1000"), "")
                        .expired(now))
                .isFalse();
        assertThat(signature("", Signature.Operation.READ, Optional.of("999"), "")
                        .expired(now))
                .isTrue();
        assertThat(signature("", Signature.Operation.READ, Optional.of("-5"), "")
                        .expired(now))
                .isTrue();
        assertThat(signature("", Signature.Operation.READ, Optional.of("never"), "")
                        .expired(now))
                .isTrue();
    }
}
