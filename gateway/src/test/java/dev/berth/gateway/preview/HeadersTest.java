package dev.berth.gateway.preview;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HeadersTest {
    private final Headers headers = new Headers("/v1/links/t", 80);

    @Test
    void credentialsAndWhatIsAboutTheConnectionStayOut() {
        Set<String> named = Headers.named(List.of("close, X-Hop", "x-other"));
        for (String name : List.of(
                "authorization",
                "X-API-KEY",
                "Host",
                "connection",
                "TE",
                "Upgrade",
                "Transfer-Encoding",
                "x-hop",
                "X-OTHER")) {
            assertThat(Headers.goesIn(name, named)).as(name).isFalse();
        }
        for (String name : List.of("Accept", "X-Anything", "Origin", "Sec-WebSocket-Key", "Range")) {
            assertThat(Headers.goesIn(name, named)).as(name).isTrue();
        }
    }

    @Test
    void whatASandboxSaysForTheWholeOriginStaysIn() {
        assertThat(Headers.goesOut("clear-site-data", Set.of())).isFalse();
        assertThat(Headers.goesOut("Content-Type", Set.of())).isTrue();
        assertThat(Headers.goesOut("Content-Security-Policy", Set.of())).isTrue();
    }

    @Test
    void aSandboxSeesItsOwnCookiesOnly() {
        assertThat(Headers.cookiesIn(List.of("a=1; preview-b=2", "preview-c=3=4; preview=5")))
                .hasValue("b=2; c=3=4");
        assertThat(Headers.cookiesIn(List.of("session=secret"))).isEmpty();
        assertThat(headers.cookieOut("a=1")).isEqualTo("preview-a=1; Path=/v1/links/t/");
        assertThat(headers.cookieOut("a=1; PATH=/x; domain=.evil.example; Secure; SameSite=Lax"))
                .isEqualTo("preview-a=1; Secure; SameSite=Lax; Path=/v1/links/t/x");
        assertThat(headers.cookieOut("a=1; Path=x; Path=/v1/links/other"))
                .isEqualTo("preview-a=1; Path=/v1/links/t/v1/links/other");
        assertThat(headers.cookieOut("a=1; path =/v1")).doesNotContain("path =");
        assertThat(headers.cookieOut("a=1; Path=/../../v1/sessions")).endsWith("; Path=/v1/links/t/");
    }

    @Test
    void addressesOfThePortAreThoseThatTheClientKnows() {
        assertThat(headers.location("/")).isEqualTo("/v1/links/t/");
        assertThat(headers.location("http://localhost:80/a?b#c")).isEqualTo("/v1/links/t/a?b#c");
        assertThat(headers.location("http://127.0.0.1:80")).isEqualTo("/v1/links/t/");
        assertThat(headers.location("http://localhost/")).isEqualTo("/v1/links/t/");
        assertThat(headers.location("http://localhost:81/")).isEqualTo("http://localhost:81/");
        assertThat(headers.location("//example.com/")).isEqualTo("//example.com/");
        assertThat(headers.location("mailto:a@b")).isEqualTo("mailto:a@b");
        assertThat(headers.location("ht!tp://[")).isEqualTo("ht!tp://[");
    }
}
