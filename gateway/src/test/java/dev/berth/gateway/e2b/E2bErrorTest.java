package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.auth.Unauthenticated;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Every failure of ours as E2B's clients are told it. Several of them no case of the conformance suite can bring about. */
class E2bErrorTest {
    private static E2bError of(ErrorCode code) {
        return E2bError.of(new SandboxException(code, "why"));
    }

    @Test
    void everyCodeHasTheStatusByWhichClientsKnowIt() {
        Map<ErrorCode, Integer> statuses = new EnumMap<>(ErrorCode.class);
        for (ErrorCode code : ErrorCode.values()) {
            statuses.put(code, of(code).status());
        }
        assertThat(statuses)
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        ErrorCode.GONE, 404,
                        ErrorCode.NOT_FOUND, 404,
                        ErrorCode.INVALID, 400,
                        ErrorCode.DENIED, 403,
                        ErrorCode.CONFLICT, 409,
                        ErrorCode.LIMIT, 429,
                        ErrorCode.TIMEOUT, 504,
                        ErrorCode.UNAVAILABLE, 503,
                        ErrorCode.UNSUPPORTED, 400));
    }

    @Test
    void theCodeInTheBodyIsTheStatusAndTheMessageOurs() {
        for (ErrorCode code : ErrorCode.values()) {
            assertThat(of(code).body())
                    .as(code.name())
                    .containsExactlyInAnyOrderEntriesOf(Map.of("code", of(code).status(), "message", "why"));
        }
    }

    @Test
    void whatMayBeTriedAgainSaysWhenInWholeSeconds() {
        assertThat(of(ErrorCode.LIMIT).headers()).containsExactly(Map.entry("Retry-After", "1"));
        assertThat(of(ErrorCode.UNAVAILABLE).headers()).containsExactly(Map.entry("Retry-After", "1"));
        assertThat(retryAfter(1)).isEqualTo("1");
        assertThat(retryAfter(1000)).isEqualTo("1");
        assertThat(retryAfter(1001)).isEqualTo("2");
        assertThat(retryAfter(0)).isEqualTo("1");
    }

    private static String retryAfter(long millis) {
        SandboxException e = new SandboxException(ErrorCode.LIMIT, "why").with(SandboxException.RETRY_AFTER_MS, millis);
        return E2bError.of(e).headers().getOrDefault("Retry-After", "");
    }

    @Test
    void whatCannotBeTriedAgainDoesNotSayWhen() {
        for (ErrorCode code : ErrorCode.values()) {
            if (code != ErrorCode.LIMIT && code != ErrorCode.UNAVAILABLE) {
                assertThat(of(code).headers()).as(code.name()).isEmpty();
            }
        }
    }

    @Test
    void whoIsNobodyIs401() {
        E2bError error = E2bError.of(new Unauthenticated());
        assertThat(error.status()).isEqualTo(401);
        assertThat(error.body()).containsEntry("code", 401).containsKey("message");
    }

    @Test
    void moreFieldsStandBesideCodeAndMessage() {
        assertThat(new E2bError(502, "why").with("sandboxId", "i1").body())
                .containsExactlyInAnyOrderEntriesOf(Map.of("sandboxId", "i1", "code", 502, "message", "why"));
    }
}
