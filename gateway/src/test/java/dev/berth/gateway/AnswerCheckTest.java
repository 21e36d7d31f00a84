package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.http.Contract;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AnswerCheckTest {
    private static final String WRITTEN = "{\"path\":\"a\",\"bytes_written\":1,\"created\":true}";
    private static final String PROBLEM =
            "{\"type\":\"about:blank\",\"title\":\"x\",\"status\":404,\"code\":\"x\",\"detail\":\"x\",\"request_id\":\"x\"}";

    private final AnswerCheck check = new AnswerCheck(Contract.load());

    @Test
    void whatTheContractSaysIsLetThrough() {
        assertThatCode(() -> {
                    check.check("POST", "/v1/sandbox/write", 200, "application/json", WRITTEN);
                    check.check("POST", "/v1/sandbox/write", 404, "application/problem+json", PROBLEM);
                    check.check("DELETE", "/accounts/me/sandboxes/x", 204, "", "");
                    check.check("GET", "/v1/there/is/no/such/thing", 404, "application/problem+json", PROBLEM);
                    check.check("GET", "/docs", 200, "text/html; charset=utf-8", "<p>");
                })
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a status that is not listed  | POST   | /v1/sandbox/write  | 201 | application/json         | {\"path\":\"a\",\"bytes_written\":1,\"created\":true}",
                "a field that is not known    | POST   | /v1/sandbox/write  | 200 | application/json         | {\"path\":\"a\",\"bytes_written\":1,\"created\":true,\"more\":1}",
                "a field that is missing      | POST   | /v1/sandbox/write  | 200 | application/json         | {\"path\":\"a\",\"bytes_written\":1}",
                "a field of another type      | POST   | /v1/sandbox/write  | 200 | application/json         | {\"path\":\"a\",\"bytes_written\":\"1\",\"created\":true}",
                "another kind of content      | POST   | /v1/sandbox/write  | 200 | text/plain               | ok",
                "a failure that is no problem | POST   | /v1/sandbox/write  | 400 | application/json         | {}",
                "a body where none should be  | DELETE | /v1/keys/a         | 204 | application/json         | {}",
                "a problem with less          | GET    | /v1/keys           | 404 | application/problem+json | {\"code\":\"x\"}",
                "an address that is none      | GET    | /v1/nothing        | 200 | application/json         | {}"
            })
    void whatItDoesNotSayFails(String what, String method, String path, int status, String type, String body) {
        assertThatThrownBy(() -> check.check(method, path, status, type, body))
                .as(what)
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void aProblemHasTheStatusOfItsAnswer() {
        assertThatThrownBy(() -> check.check("GET", "/v1/keys", 403, "application/problem+json", PROBLEM))
                .isInstanceOf(AssertionError.class);
    }
}
