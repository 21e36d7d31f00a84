package dev.berth.gateway.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Use;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

/** What the API takes for a network. */
class NetworksTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Networks networks = networks(EnumSet.allOf(Capability.class));

    private static Networks networks(Set<Capability> capabilities) {
        return new Networks("local", capabilities, new OneSecret(), Optional.empty());
    }

    private Network read(String json) {
        return networks.read("acme", JSON.readTree(json), "network.");
    }

    private List<String> errors(String json) {
        SandboxException refused = catchThrowableOfType(SandboxException.class, () -> read(json));
        assertThat(refused.code()).isEqualTo(ErrorCode.INVALID);
        return NetworkJson.errors(refused);
    }

    @Test
    void theOperatorSaysWhatOfItsOwnNetworksMayBeAllowed() {
        Networks closed =
                new Networks("local", EnumSet.allOf(Capability.class), new OneSecret(), Optional.of(List.of((Cidr)
                        Destination.parse("10.1.0.0/16"))));
        SandboxException refused =
                catchThrowableOfType(SandboxException.class, () -> closed.read("acme", JSON.readTree("""
                        {"mode": "restricted", "allow": [{"to": "10.1.2.0/24"}, {"to": "10.2.0.1"}, {"to": "8.8.8.8"},
                         {"to": "172.0.0.0/8"}, {"to": "169.254.169.254"}, {"to": "fd00::1"}, {"to": "example.com"}]}"""), "network."));
        assertThat(NetworkJson.errors(refused))
                .extracting(problem -> problem.substring(0, problem.indexOf(" is not")))
                .containsExactly(
                        "network.allow[1].to: 10.2.0.1/32",
                        "network.allow[3].to: 172.0.0.0/8",
                        "network.allow[4].to: 169.254.169.254/32",
                        "network.allow[5].to: fd00:0:0:0:0:0:0:1/128");
    }

    @Test
    void readsAllThatCanBeSaid() {
        Network network = read("""
                {"mode": "restricted", "secrets": ["MODEL_KEY"],
                 "allow": [{"to": "*.Example.com", "ports": [443, 8443]},
                           {"to": "api.test", "methods": ["GET"], "paths": ["/v1/*"]}],
                 "caps": {"connections": 5, "bytes": 1000000, "bytesPerSecond": 2048}}""");
        assertThat(network)
                .isEqualTo(new Network(
                        Mode.RESTRICTED,
                        List.of(
                                Rule.to("*.example.com").withPorts(443, 8443),
                                Rule.to("api.test").withMethods("GET").withPaths("/v1/*")),
                        List.of("MODEL_KEY"),
                        new Caps(5, 1_000_000, 2048)));
        assertThat(NetworkJson.read(JSON.valueToTree(NetworkJson.show(network))))
                .isEqualTo(network);
    }

    @Test
    void whatIsNotSaidIsAsUsual() {
        assertThat(read("{\"mode\": \"none\"}")).isEqualTo(Network.NONE);
        assertThat(read("{\"mode\": \"open\", \"caps\": {}}")).isEqualTo(Network.OPEN);
    }

    @Test
    void tellsEverythingThatIsWrongWithItsPlace() {
        assertThat(errors("""
                {"mode": "restricted", "caps": {"bytesPerSecond": 1},
                 "allow": [{"to": "*"}, {"to": "example.com"}, {"to": "127.1", "ports": [0], "methods": ["get"]}]}"""))
                .hasSize(5)
                .anySatisfy(error -> assertThat(error).startsWith("network.allow[0].to: '*'"))
                .anySatisfy(error -> assertThat(error).startsWith("network.allow[2].to: '127.1'"))
                .anySatisfy(error -> assertThat(error).startsWith("network.allow[2].ports: "))
                .anySatisfy(error -> assertThat(error).startsWith("network.allow[2].methods: "))
                .anySatisfy(error -> assertThat(error).startsWith("network.caps.bytesPerSecond: "));
    }

    @Test
    void tellsWhichRulesOverlap() {
        assertThat(errors("{\"mode\": \"restricted\", \"allow\": [{\"to\": \"*.test\"}]}"))
                .hasSize(1);
        assertThat(errors("""
                {"mode": "restricted", "allow": [{"to": "*.a.test"}, {"to": "b.a.test"}, {"to": "c.a.test"}]}"""))
                .hasSize(2)
                .allSatisfy(error -> assertThat(error).contains("is allowed by allow[0] (*.a.test) already"));
    }

    @Test
    void namesTheSecretsThatAreNotThere() {
        assertThat(errors("{\"mode\": \"open\", \"secrets\": [\"MODEL_KEY\", \"GIT\", \"OTHER\"]}"))
                .containsExactly(
                        "network.secrets: there is no secret 'GIT'", "network.secrets: there is no secret 'OTHER'");
    }

    @ParameterizedTest
    @CsvSource({"restricted, OUTLET, outlet", "open, OPEN_NETWORK, open_network", "open, OUTLET, outlet"})
    void refusesByNameWhatTheProviderCannotEnforce(String mode, Capability missing, String name) {
        Networks less = networks(EnumSet.complementOf(EnumSet.of(missing)));
        SandboxException refused = catchThrowableOfType(
                SandboxException.class,
                () -> less.read("acme", JSON.createObjectNode().put("mode", mode), ""));
        assertThat(refused.code()).isEqualTo(ErrorCode.UNSUPPORTED);
        assertThat(refused).hasMessageContaining("mode " + mode);
        assertThat(refused.details()).containsEntry("capability", name);
        assertThat(less.read("acme", JSON.createObjectNode().put("mode", "none"), ""))
                .isEqualTo(Network.NONE);
    }

    /** The tenant {@code acme} has a secret MODEL_KEY. */
    private record OneSecret() implements SecretBook {
        @Override
        public void check(String tenant, List<String> names) {
            List<String> problems = names.stream()
                    .filter(name -> !tenant.equals("acme") || !name.equals("MODEL_KEY"))
                    .map(name -> "there is no secret '" + name + "'")
                    .toList();
            if (!problems.isEmpty()) {
                throw SandboxException.invalid("no").with(SandboxException.ERRORS, problems);
            }
        }

        @Override
        public List<Binding> bindings(SessionKey session, List<String> names) {
            return List.of();
        }

        @Override
        public Optional<String> reveal(SessionKey session, String name) {
            return Optional.empty();
        }

        @Override
        public Map<String, String> env(SessionKey session, List<String> names) {
            return Map.of();
        }

        @Override
        public void used(SessionKey session, Use use) {}
    }
}
