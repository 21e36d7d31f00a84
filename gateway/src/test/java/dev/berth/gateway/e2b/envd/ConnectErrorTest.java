package dev.berth.gateway.e2b.envd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConnectErrorTest {
    @ParameterizedTest
    @CsvSource({
        "GONE, unavailable, 503",
        "NOT_FOUND, not_found, 404",
        "INVALID, invalid_argument, 400",
        "DENIED, permission_denied, 403",
        "CONFLICT, failed_precondition, 400",
        "LIMIT, resource_exhausted, 429",
        "TIMEOUT, deadline_exceeded, 504",
        "UNAVAILABLE, unavailable, 503",
        "UNSUPPORTED, unimplemented, 501"
    })
    void everyErrorOfASandboxHasItsCode(ErrorCode code, String name, int status) {
        ConnectError error = ConnectError.of(new SandboxException(code, "why"));
        assertThat(error.body()).isEqualTo(Map.of("code", name, "message", "why"));
        assertThat(error.code().status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({
        "400, INVALID_ARGUMENT",
        "401, UNAUTHENTICATED",
        "403, PERMISSION_DENIED",
        "404, NOT_FOUND",
        "409, FAILED_PRECONDITION",
        "413, RESOURCE_EXHAUSTED",
        "429, RESOURCE_EXHAUSTED",
        "502, UNAVAILABLE",
        "503, UNAVAILABLE",
        "504, DEADLINE_EXCEEDED",
        "500, INTERNAL"
    })
    void soHasEveryStatus(int status, ConnectCode code) {
        assertThat(ConnectError.of(new E2bError(status, "why")).code()).isEqualTo(code);
    }

    @Test
    void whatNobodyExpectedDoesNotTellWhy() {
        ConnectError error = ConnectError.of(new IllegalStateException("the password is x"));
        assertThat(error.code()).isEqualTo(ConnectCode.INTERNAL);
        assertThat(error).hasMessageNotContaining("password");
    }
}
