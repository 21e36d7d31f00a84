package dev.berth.gateway.preview;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OriginTest {
    private final Origin shared = new SharedOrigin("/v1/links/t", 80);

    @Test
    void credentialsAndWhatIsAboutTheConnectionStayOut() {
        Set<String> named = Origin.named(List.of("close, X-Hop", "x-other"));
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
            assertThat(shared.goesIn(name, named)).as(name).isFalse();
        }
        for (String name : List.of("Accept", "X-Anything", "Origin", "Sec-WebSocket-Key", "Range")) {
            assertThat(shared.goesIn(name, named)).as(name).isTrue();
        }
    }

    @Test
    void whatASandboxSaysForTheWholeOriginStaysIn() {
        assertThat(shared.goesOut("clear-site-data", Set.of())).isFalse();
        assertThat(shared.goesOut("Content-Type", Set.of())).isTrue();
        assertThat(shared.goesOut("Content-Security-Policy", Set.of())).isTrue();
    }

    @Test
    void aSandboxSeesItsOwnCookiesOnly() {
        assertThat(shared.cookiesIn(List.of("a=1; preview-b=2", "preview-c=3=4; preview=5")))
                .hasValue("b=2; c=3=4");
        assertThat(shared.cookiesIn(List.of("session=secret"))).isEmpty();
        assertThat(shared.cookieOut("a=1")).isEqualTo("preview-a=1; Path=/v1/links/t/");
        assertThat(shared.cookieOut("a=1; PATH=/x; domain=.evil.example; Secure; SameSite=Lax"))
                .isEqualTo("preview-a=1; Secure; SameSite=Lax; Path=/v1/links/t/x");
        assertThat(shared.cookieOut("a=1; Path=x; Path=/v1/links/other"))
                .isEqualTo("preview-a=1; Path=/v1/links/t/v1/links/other");
        assertThat(shared.cookieOut("a=1; path =/v1")).doesNotContain("path =");
        assertThat(shared.cookieOut("a=1; Path=/../../v1/sessions")).endsWith("; Path=/v1/links/t/");
    }

    @Test
    void whatIsSentToAPortWithANameOfItsOwnIsAllForIt() {
        Origin own = new OwnOrigin("8080-i1.sbx.localhost:8443", Set.of("e2b-traffic-access-token"));
        for (String name : List.of("authorization", "X-API-KEY", "Origin", "X-Anything")) {
            assertThat(own.goesIn(name, Set.of())).as(name).isTrue();
        }
        for (String name : List.of("E2B-Traffic-Access-Token", "X-Forwarded-For", "forwarded", "TE", "x-hop")) {
            assertThat(own.goesIn(name, Origin.named(List.of("X-Hop"))))
                    .as(name)
                    .isFalse();
        }
        assertThat(own.cookiesIn(List.of("a=1; b=2", "c=3"))).hasValue("a=1; b=2; c=3");
        assertThat(own.cookiesIn(List.of())).isEmpty();
        assertThat(own.cookieOut("a=1; Path=/")).isEqualTo("a=1; Path=/");
        assertThat(own.location("http://localhost:8080/x")).isEqualTo("http://localhost:8080/x");
        assertThat(own.goesOut("Strict-Transport-Security", Set.of())).isTrue();
        assertThat(own.goesOut("clear-site-data", Set.of())).isFalse();
        assertThat(own.toldOutside()).isEmpty();
    }

    @Test
    void addressesOfThePortAreThoseThatTheClientKnows() {
        assertThat(shared.location("/")).isEqualTo("/v1/links/t/");
        assertThat(shared.location("http://localhost:80/a?b#c")).isEqualTo("/v1/links/t/a?b#c");
        assertThat(shared.location("http://127.0.0.1:80")).isEqualTo("/v1/links/t/");
        assertThat(shared.location("http://localhost/")).isEqualTo("/v1/links/t/");
        assertThat(shared.location("http://localhost:81/")).isEqualTo("http://localhost:81/");
        assertThat(shared.location("//example.com/")).isEqualTo("//example.com/");
        assertThat(shared.location("mailto:a@b")).isEqualTo("mailto:a@b");
        assertThat(shared.location("ht!tp://[")).isEqualTo("ht!tp://[");
    }
}
