package dev.berth.egress.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.egress.internet.Rules;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GateTest {
    private static final InetAddress OWN = InetAddress.ofLiteral("11.0.0.1");

    private final List<String> asked = new ArrayList<>();
    private final Map<String, List<InetAddress>> known = Map.of(
            "example.com", addresses("93.184.215.14", "2606:2800:220::1"),
            "a.example.com", addresses("93.184.215.15"),
            "b.a.example.com", addresses("93.184.215.16"),
            "notexample.com", addresses("93.184.215.17"),
            "inside.example.com", addresses("10.1.2.3"),
            "both.example.com", addresses("10.1.2.3", "93.184.215.18"),
            "mapped.example.com", addresses("64:ff9b::a00:1"),
            "me.example.com", addresses("11.0.0.1"),
            "bound.example", addresses("93.184.215.19"));
    private final Gate gate = new Gate(this::resolve, () -> Set.of(OWN), port -> port == 8080);

    private List<InetAddress> resolve(String host) throws UnknownHostException {
        asked.add(host);
        List<InetAddress> found = known.get(host);
        if (found == null) {
            throw new UnknownHostException(host);
        }
        return found;
    }

    @Test
    void aSandboxWithoutNetworkReachesNothingAndAsksNothing() {
        refused(Network.NONE, "example.com:443", Reason.NO_NETWORK);
        refused(Network.NONE, "93.184.215.14:443", Reason.NO_NETWORK);
        assertThat(asked).isEmpty();
    }

    @Test
    void anExactDomainIsThatDomainAlone() throws Exception {
        Network network = Network.restricted(Rule.to("example.com"));
        assertThat(allowed(network, "example.com:443").addresses()).hasSize(2);
        assertThat(allowed(network, "EXAMPLE.com.:80").inspected()).isFalse();
        refused(network, "a.example.com:443", Reason.NOT_ALLOWED);
        refused(network, "notexample.com:443", Reason.NOT_ALLOWED);
        refused(network, "com:443", Reason.NOT_ALLOWED);
    }

    @Test
    void aWildcardIsWhatLiesBelow() throws Exception {
        Network network = Network.restricted(Rule.to("*.example.com"));
        allowed(network, "a.example.com:443");
        allowed(network, "b.a.example.com:443");
        refused(network, "example.com:443", Reason.NOT_ALLOWED);
        refused(network, "notexample.com:443", Reason.NOT_ALLOWED);
    }

    @Test
    void aRuleIsForItsPorts() throws Exception {
        refused(Network.restricted(Rule.to("example.com")), "example.com:22", Reason.NOT_ALLOWED);
        Network ssh = Network.restricted(Rule.to("example.com").withPorts(22));
        allowed(ssh, "example.com:22");
        refused(ssh, "example.com:443", Reason.NOT_ALLOWED);
    }

    @Test
    void aNameThatIsNotAllowedIsNotLookedUp() {
        refused(Network.restricted(Rule.to("example.com")), "secret.data.evil.example:443", Reason.NOT_ALLOWED);
        refused(Network.restricted(Rule.to("10.0.0.0/8")), "secret.data.evil.example:443", Reason.NOT_ALLOWED);
        refused(Network.restricted(Rule.to("0.0.0.0/0")), "secret.data.evil.example:443", Reason.NOT_ALLOWED);
        assertThat(asked).isEmpty();
    }

    @Test
    void anAddressIsReachedByARangeAlone() throws Exception {
        refused(Network.restricted(Rule.to("example.com")), "93.184.215.14:443", Reason.NOT_ALLOWED);
        Network range = Network.restricted(Rule.to("93.184.215.0/24"));
        allowed(range, "93.184.215.14:443");
        allowed(range, "[::ffff:93.184.215.14]:443");
        refused(range, "93.184.216.14:443", Reason.NOT_ALLOWED);
        refused(range, "93.184.215.14:22", Reason.NOT_ALLOWED);
        allowed(Network.restricted(Rule.to("2606:2800::/32")), "[2606:2800:220::1]:443");
    }

    @Test
    void aNameThatLeadsToAPrivateAddressNeedsARangeBesidesItsName() throws Exception {
        Network name = Network.restricted(Rule.to("*.example.com"));
        refused(name, "inside.example.com:443", Reason.PRIVATE_ADDRESS);
        refused(name, "mapped.example.com:443", Reason.PRIVATE_ADDRESS);
        Network both = Network.restricted(Rule.to("*.example.com"), Rule.to("10.0.0.0/8"));
        assertThat(allowed(both, "inside.example.com:443").addresses())
                .containsExactlyElementsOf(addresses("10.1.2.3"));
        refused(
                Network.restricted(
                        Rule.to("*.example.com"), Rule.to("10.0.0.0/8").withPorts(22)),
                "inside.example.com:443",
                Reason.PRIVATE_ADDRESS);
    }

    @Test
    void onlyTheAddressesThatWereCheckedAreConnectedTo() throws Exception {
        Way way = allowed(Network.restricted(Rule.to("*.example.com")), "both.example.com:443");
        assertThat(way.addresses()).containsExactlyElementsOf(addresses("93.184.215.18"));
    }

    @Test
    void theAddressesOfThisMachineAreClosedEvenIfTheyArePublic() throws Exception {
        refused(Network.OPEN, "me.example.com:443", Reason.PRIVATE_ADDRESS);
        refused(Network.OPEN, "11.0.0.1:443", Reason.PRIVATE_ADDRESS);
        allowed(Network.restricted(Rule.to("11.0.0.1")), "11.0.0.1:443");
    }

    @ParameterizedTest
    @ValueSource(strings = {"11.0.0.1:8080", "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080", "[::ffff:127.0.0.1]:8080"})
    void thePortsOfThisServerAreOpenedByNoRule(String target) {
        Network everything = Network.restricted(
                Rule.to("0.0.0.0/0").withPorts(8080), Rule.to("::/0").withPorts(8080));
        refused(everything, target, Reason.LOOP);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "10.0.0.1",
                "127.0.0.1",
                "169.254.169.254",
                "192.168.0.1",
                "[::1]",
                "[::ffff:169.254.169.254]",
                "[64:ff9b::a9fe:a9fe]",
                "[2002:a9fe:a9fe::]",
                "[fe80::1]",
                "[fd00::1]"
            })
    void anOpenNetworkIsThePublicOne(String host) throws Exception {
        refused(Network.OPEN, host + ":80", Reason.PRIVATE_ADDRESS);
        allowed(Network.OPEN, "93.184.215.14:12345");
        allowed(Network.OPEN, "example.com:22");
    }

    @Test
    void anOpenNetworkWithARangeReachesThatToo() throws Exception {
        Network network =
                new Network(Network.Mode.OPEN, List.of(Rule.to("10.1.0.0/16")), List.of(), Network.Caps.DEFAULT);
        allowed(network, "10.1.2.3:443");
        allowed(network, "inside.example.com:443");
        refused(network, "10.2.2.3:443", Reason.PRIVATE_ADDRESS);
        refused(network, "10.1.2.3:22", Reason.PRIVATE_ADDRESS);
    }

    @Test
    void whatIsDeniedIsNotReachedByNameNorByAddressUnlessARuleHasItsRange() throws Exception {
        Network network = new Network(
                Network.Mode.OPEN,
                List.of(Rule.to("93.184.215.16").withEveryPort()),
                List.of("93.184.215.0/24", "2606:2800::/32"),
                List.of(),
                Network.Caps.DEFAULT);
        refused(network, "93.184.215.14:443", Reason.NOT_ALLOWED);
        refused(network, "a.example.com:443", Reason.NOT_ALLOWED);
        refused(network, "example.com:443", Reason.NOT_ALLOWED);
        allowed(network, "93.184.216.1:443");
        allowed(network, "93.184.215.16:22");
        allowed(network, "b.a.example.com:8443");
        Network named = Network.restricted(Rule.to("example.com")).withDeny("93.184.215.0/24");
        assertThat(allowed(named, "example.com:443").addresses())
                .containsExactly(InetAddress.ofLiteral("2606:2800:220::1"));
        Way open = allowed(Network.OPEN, "example.com:443");
        assertThat(gate.still(new Rules(Network.OPEN.withDeny("93.184.215.14")), open))
                .isFalse();
    }

    @Test
    void aHostThatIsNotThereIsUnknown() {
        refused(Network.OPEN, "nowhere.example:443", Reason.UNKNOWN_HOST);
    }

    @Test
    void whatHasMethodsOrPathsIsLookedInto() throws Exception {
        Network reading = Network.restricted(Rule.to("example.com").withMethods("GET"));
        assertThat(allowed(reading, "example.com:443").inspected()).isTrue();
        Network onePort = Network.restricted(
                Rule.to("example.com").withMethods("GET"),
                Rule.to("example.com").withPorts(8443));
        assertThat(allowed(onePort, "example.com:443").inspected()).isTrue();
        assertThat(allowed(onePort, "example.com:8443").inspected()).isFalse();
    }

    @Test
    void aBoundHostIsReachedAndLookedInto() throws Exception {
        Rules rules = new Rules(Network.restricted()).bind(binding("bound.example"), "value");
        Way way = gate.connection(rules, Target.parse("bound.example:443", 443));
        assertThat(way.inspected()).isTrue();
        assertThatThrownBy(() -> gate.connection(rules, Target.parse("bound.example:80", 80)))
                .isInstanceOf(Refusal.class);
        Rules open = new Rules(Network.OPEN).bind(binding("bound.example"), "value");
        assertThat(gate.connection(open, Target.parse("bound.example:443", 443)).inspected())
                .isTrue();
        assertThat(gate.connection(open, Target.parse("example.com:443", 443)).inspected())
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "GET, /v1/models, true",
        "GET, /v1/files/7, true",
        "POST, /v1/models, false",
        "GET, /v1/models/x, false",
        "GET, /v2/, false",
        "GET, /v1/files/, true"
    })
    void aRequestPassesIfARuleHasItsMethodAndPath(String method, String path, boolean passes) throws Exception {
        Rules rules = new Rules(
                Network.restricted(Rule.to("example.com").withMethods("GET").withPaths("/v1/models", "/v1/files/*")));
        Target target = Target.parse("example.com:443", 443);
        if (passes) {
            gate.request(rules, target, method, path);
        } else {
            assertThatThrownBy(() -> gate.request(rules, target, method, path))
                    .isInstanceOfSatisfying(
                            Refusal.class,
                            refusal -> assertThat(refusal.reason()).isEqualTo(Reason.NOT_ALLOWED));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v1/files/../admin",
                "/v1/files/./x",
                "/v1/files/%2e%2e/admin",
                "/v1/files/..%2fadmin",
                "/v1/files//x",
                "/v1/files/..;/admin",
                "/v1/files/%5cadmin",
                "/v1/files/%252e%252e/admin",
                "/v1/files/\\..\\admin",
                "/v1/files/x%00"
            })
    void aPathThatServersReadInDifferentWaysIsRefused(String path) throws Exception {
        Rules rules = new Rules(Network.restricted(Rule.to("example.com").withPaths("/v1/files/*")));
        Target target = Target.parse("example.com:443", 443);
        assertThatThrownBy(() -> gate.request(rules, target, "GET", path))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(Reason.BAD_REQUEST));
    }

    @Test
    void whatWasLetThroughIsJudgedAnewWithoutLookingItsNameUp() throws Exception {
        Rules rules = new Rules(Network.restricted(Rule.to("example.com")));
        Way way = gate.connection(rules, Target.parse("example.com:443", 443));
        int before = asked.size();
        assertThat(gate.still(rules, way)).isTrue();
        rules.network(Network.restricted(Rule.to("*.example.com")));
        assertThat(gate.still(rules, way)).isFalse();
        rules.network(Network.restricted(Rule.to("example.com").withMethods("GET")));
        assertThat(gate.still(rules, way)).isFalse();
        rules.network(Network.OPEN);
        assertThat(gate.still(rules, way)).isTrue();
        rules.network(Network.NONE);
        assertThat(gate.still(rules, way)).isFalse();
        assertThat(asked).hasSize(before);
    }

    @Test
    void aHeaderThatIsSetOpensNoWayAndIsLookedInto() throws Exception {
        Binding set = new Binding(
                "RULES",
                "berth-rules-x",
                List.of(new Domain("example.com", false), new Domain("bound.example", false)),
                List.of(443),
                List.of(),
                List.of(),
                new Binding.Place.Set("X-Tag", List.of(new Binding.Piece("a", false))),
                false);
        Rules rules = new Rules(Network.restricted(Rule.to("example.com"))).bind(set, "value");
        Target allowed = Target.parse("example.com:443", 443);
        assertThat(gate.connection(rules, allowed).inspected()).isTrue();
        gate.request(rules, allowed, "POST", "/any");
        assertThatThrownBy(() -> gate.connection(rules, Target.parse("bound.example:443", 443)))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(Reason.NOT_ALLOWED));
    }

    private static Binding binding(String host) {
        return new Binding(
                "KEY",
                "berth-key-x",
                List.of(new Domain(host, false)),
                List.of(443),
                List.of(),
                List.of(),
                new Binding.Place.Header("Authorization", "Bearer {}"),
                false);
    }

    private Way allowed(Network network, String target) throws Refusal {
        return gate.connection(new Rules(network), Target.parse(target, 443));
    }

    private void refused(Network network, String target, Reason reason) {
        assertThatThrownBy(() -> allowed(network, target))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(reason));
    }

    private static List<InetAddress> addresses(String... all) {
        return List.of(all).stream().map(InetAddress::ofLiteral).toList();
    }
}
