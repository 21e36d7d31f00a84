package dev.berth.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkTest {
    @ParameterizedTest
    @CsvSource({
        "Example.COM,example.com",
        "example.com.,example.com",
        "*.Example.com,*.example.com",
        "bücher.example,xn--bcher-kva.example",
        "localhost,localhost",
        "_dmarc.example.com,_dmarc.example.com",
        "10.0.0.0/8,10.0.0.0/8",
        "10.1.2.3,10.1.2.3/32",
        "2001:db8::/32,2001:db8:0:0:0:0:0:0/32",
        "::1,0:0:0:0:0:0:0:1/128",
    })
    void aDestinationIsKeptInOneSpelling(String written, String kept) {
        assertThat(Destination.parse(written)).hasToString(kept);
        assertThat(Destination.parse(kept)).isEqualTo(Destination.parse(written));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "*",
                "*.",
                "*.com",
                "a*.example.com",
                "example.*",
                "*.*.example.com",
                "exa mple.com",
                "-a.example.com",
                "a..example.com",
                ".example.com",
                "example.com:443",
                "https://example.com",
                "user@example.com",
                "example.com/path",
                "127.1",
                "2130706433",
                "0x7f000001",
                "0x7f.1",
                "010.0.0.1",
                "10.0.0.0/33",
                "10.0.0.1/8",
                "10.0.0.0/-1",
                "10.0.0.0/",
                "10.0.0/8",
                "::1/129",
                "fe80::1%eth0",
                "1.2.3.4.5",
                "exam\u0000ple.com",
                "example.com\r\nHost: other",
            })
    void aDestinationThatCouldBeMisreadIsRefused(String written) {
        assertThatThrownBy(() -> Destination.parse(written))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }

    @Test
    void aStarStandsForAllNamesBelowAndNotForTheDomainItself() {
        Domain below = (Domain) Destination.parse("*.example.com");
        assertThat(below.covers(Domain.of("a.example.com"))).isTrue();
        assertThat(below.covers(Domain.of("a.b.EXAMPLE.com."))).isTrue();
        assertThat(below.covers(Domain.of("example.com"))).isFalse();
        assertThat(below.covers(Domain.of("badexample.com"))).isFalse();
        assertThat(below.covers(Domain.of("example.com.evil.net"))).isFalse();
        Domain exact = Domain.of("example.com");
        assertThat(exact.covers(Domain.of("EXAMPLE.com"))).isTrue();
        assertThat(exact.covers(Domain.of("a.example.com"))).isFalse();
    }

    @Test
    void aRangeContainsTheAddressesThatBeginAsItDoes() {
        Cidr range = (Cidr) Destination.parse("10.20.0.0/14");
        assertThat(range.contains(InetAddress.ofLiteral("10.20.0.0"))).isTrue();
        assertThat(range.contains(InetAddress.ofLiteral("10.23.255.255"))).isTrue();
        assertThat(range.contains(InetAddress.ofLiteral("10.24.0.0"))).isFalse();
        assertThat(range.contains(InetAddress.ofLiteral("::1"))).isFalse();
        Cidr all = (Cidr) Destination.parse("0.0.0.0/0");
        assertThat(all.contains(InetAddress.ofLiteral("203.0.113.7"))).isTrue();
        assertThat(all.contains(InetAddress.ofLiteral("2001:db8::1"))).isFalse();
    }

    @Test
    void aRuleWithMethodsAndPathsAllowsRequestsThatMatchBoth() {
        Rule rule = Rule.to("api.example.com").withMethods("GET", "POST").withPaths("/v1/models", "/v1/files/*");
        assertThat(rule.looksInside()).isTrue();
        assertThat(rule.allows("GET", "/v1/models")).isTrue();
        assertThat(rule.allows("POST", "/v1/files/7")).isTrue();
        assertThat(rule.allows("GET", "/v1/models/7")).isFalse();
        assertThat(rule.allows("GET", "/v1/filesystem")).isFalse();
        assertThat(rule.allows("DELETE", "/v1/models")).isFalse();
        assertThat(Rule.to("example.com").looksInside()).isFalse();
        assertThat(Rule.to("example.com").ports()).containsExactly(80, 443);
    }

    @Test
    void aRuleThatMakesNoSenseIsRefused() {
        refused("port", () -> Rule.to("example.com").withPorts(0));
        refused("port", () -> Rule.to("example.com").withPorts(65_536));
        refused("not a method", () -> Rule.to("example.com").withMethods("get"));
        refused("not a method", () -> Rule.to("example.com").withMethods("GET\r\nX: y"));
        refused("not a path", () -> Rule.to("example.com").withPaths("v1"));
        refused("not a path", () -> Rule.to("example.com").withPaths("/v1/*/x"));
        refused("domains only", () -> Rule.to("10.0.0.0/8").withMethods("GET"));
    }

    @Test
    void aRuleThatAddsNothingToAnotherIsRefused() {
        Rule all = Rule.to("example.com");
        refused("allow[1]: example.com is allowed by allow[0]", () -> Network.restricted(all, all));
        refused("allow[0]: example.com is allowed by allow[1]", () -> Network.restricted(all.withMethods("GET"), all));
        refused(
                "allow[1]: a.example.com",
                () -> Network.restricted(Rule.to("*.example.com"), Rule.to("a.example.com")));
        refused(
                "allow[1]: *.a.example.com",
                () -> Network.restricted(Rule.to("*.example.com"), Rule.to("*.a.example.com")));
        refused("allow[0]: 10.1.0.0/16", () -> Network.restricted(Rule.to("10.1.0.0/16"), Rule.to("10.0.0.0/8")));
        refused(
                "allow[1]",
                () -> Network.restricted(
                        all.withPaths("/v1/*"), all.withPaths("/v1/models").withMethods("GET")));
        assertThat(Network.restricted(
                                all,
                                Rule.to("*.example.com"),
                                all.withPorts(8080),
                                Rule.to("other.com").withMethods("GET").withPaths("/a"),
                                Rule.to("other.com").withMethods("POST").withPaths("/b"))
                        .allow())
                .hasSize(5);
    }

    @Test
    void theModesHoldOnlyWhatMakesSenseInThem() {
        List<Rule> rules = List.of(Rule.to("example.com"));
        refused("mode none", () -> new Network(Mode.NONE, rules, List.of(), Caps.DEFAULT));
        refused("mode none", () -> Network.NONE.withSecrets(List.of("KEY")));
        refused("anyway", () -> new Network(Mode.OPEN, rules, List.of(), Caps.DEFAULT));
        assertThat(new Network(Mode.OPEN, List.of(Rule.to("10.0.0.0/8")), List.of("KEY"), Caps.DEFAULT).allow())
                .hasSize(1);
        refused("connections", () -> new Caps(-1, 0, 0));
        refused("bytesPerSecond", () -> new Caps(0, 0, 10));
    }

    @Test
    void addressesAndRangesCanBeDeniedAndNamesCannot() {
        assertThat(Network.OPEN.withDeny("8.8.8.8", "9.9.9.0/24", "8.8.8.8/32").deny())
                .containsExactly("8.8.8.8/32", "9.9.9.0/24");
        refused("deny[1]: example.com is a name", () -> Network.OPEN.withDeny("8.8.8.8", "example.com"));
        refused("deny[0]: the range", () -> Network.OPEN.withDeny("8.8.8.8/8"));
        refused("deny: a network of mode none", () -> Network.NONE.withDeny("8.8.8.8"));
        assertThat(Network.OPEN
                        .withDeny("8.8.8.8")
                        .withSecrets(List.of("KEY"))
                        .withCaps(Caps.DEFAULT)
                        .deny())
                .hasSize(1);
    }

    @Test
    void aRuleCanBeForEveryPort() {
        Rule every = Rule.to("9.9.9.9").withEveryPort();
        assertThat(every.opens(1)).isTrue();
        assertThat(every.opens(65_535)).isTrue();
        assertThat(Rule.to("9.9.9.9").opens(22)).isFalse();
        refused("already", () -> Network.restricted(every, Rule.to("9.9.9.9").withPorts(22)));
    }

    private static void refused(String why, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(SandboxException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
            assertThat(e).hasMessageContaining(why);
        });
    }
}
