package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TermsTest {
    private final AtomicLong now = new AtomicLong();

    private Terms terms(String timeout, String keepalive) {
        return Terms.of(Optional.of(timeout), Optional.of(keepalive), now::get);
    }

    @ParameterizedTest
    @CsvSource({"5, 5", "50, 15", "90, 15", "0, 15", "x, 15", "'', 15", "-1, 15", "999999999999, 15"})
    void aStreamIsNeverSilentForLong(String asked, int seconds) {
        Terms terms = terms("", asked);
        assertThat(terms.patience()).isEqualTo(Duration.ofSeconds(seconds));
        now.set(Duration.ofSeconds(seconds).toNanos());
        assertThat(terms.silent()).isTrue();
        assertThat(terms.patience()).isZero();
        terms.spoke();
        assertThat(terms.silent()).isFalse();
        terms.check();
    }

    @Test
    void aTimeoutIsFromTheBeginning() {
        Terms terms = terms("2000", "5");
        assertThat(terms.patience()).isEqualTo(Duration.ofSeconds(2));
        now.set(Duration.ofMillis(1500).toNanos());
        terms.spoke();
        assertThat(terms.patience()).isEqualTo(Duration.ofMillis(500));
        terms.check();
        now.set(Duration.ofSeconds(2).toNanos());
        assertThatThrownBy(terms::check).hasMessage("context deadline exceeded");
    }

    @Test
    void noTimeoutIsNone() {
        assertThat(terms("0", "").timeout()).isEmpty();
        assertThat(terms("", "").timeout()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "-1", "1.5", "12345678901", " 1"})
    void aTimeoutThatIsNoneIsRefused(String text) {
        assertThatThrownBy(() -> terms(text, "")).isInstanceOf(ConnectError.class);
    }
}
