package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.session.SessionKey;
import org.junit.jupiter.api.Test;

class WatchLimitTest {
    private static final SessionKey ONE = SessionKey.of("acme", "i1");
    private static final SessionKey OTHER = SessionKey.of("acme", "i2");

    @Test
    void oneSandboxTakesNoMoreThanItsShareAndAllNoMoreThanThereIs() {
        WatchLimit limit = new WatchLimit(2, 3);
        WatchLimit.Taken first = limit.take(ONE);
        limit.take(ONE);
        assertThatThrownBy(() -> limit.take(ONE)).hasMessageContaining("a sandbox can have 2");
        limit.take(OTHER);
        assertThatThrownBy(() -> limit.take(OTHER)).hasMessageContaining("on this server");
        first.close();
        first.close();
        limit.take(OTHER);
        assertThatThrownBy(() -> limit.take(ONE))
                .isInstanceOfSatisfying(
                        ConnectError.class, e -> assertThat(e.code()).isEqualTo(ConnectCode.RESOURCE_EXHAUSTED));
    }
}
