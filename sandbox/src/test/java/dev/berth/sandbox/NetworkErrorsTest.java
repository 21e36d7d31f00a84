package dev.berth.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Mode;
import dev.berth.sandbox.Network.Rule;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class NetworkErrorsTest {
    @Test
    void aRuleTellsEverythingThatIsWrongWithIt() {
        assertThat(errors(() -> new Rule("*", List.of(0, 443, 70_000), List.of("get"), List.of("v1"))))
                .hasSize(5)
                .anySatisfy(error -> assertThat(error).startsWith("to: '*'"))
                .contains("ports: a port is a number from 1 to 65535, not 0")
                .contains("ports: a port is a number from 1 to 65535, not 70000")
                .contains("methods: 'get' is not a method, such as GET")
                .contains("paths: 'v1' is not a path, such as /v1/models or /v1/*");
        assertThat(errors(() -> Rule.to("10.0.0.0/8").withMethods("GET")))
                .containsExactly("to: methods and paths can be said of domains only, not of 10.0.0.0/8");
    }

    @Test
    void rulesThatAllowNothingNewAreToldWithTheirPlaces() {
        List<Rule> rules = List.of(
                Rule.to("*.example.com"),
                Rule.to("a.example.com"),
                Rule.to("example.com"),
                Rule.to("EXAMPLE.com."),
                Rule.to("10.1.0.0/16").withPorts(5432),
                Rule.to("10.0.0.0/8").withPorts(5432, 6379));
        assertThat(errors(() -> new Network(Mode.RESTRICTED, rules, List.of(), Caps.DEFAULT)))
                .containsExactly(
                        "allow[1]: a.example.com is allowed by allow[0] (*.example.com) already; remove one of them",
                        "allow[3]: example.com is allowed by allow[2] (example.com) already; remove one of them",
                        "allow[4]: 10.1.0.0/16 is allowed by allow[5] (10.0.0.0/8) already; remove one of them");
    }

    @Test
    void rulesForOtherPortsMethodsOrPathsDoNotOverlap() {
        Network network = Network.restricted(
                Rule.to("example.com"),
                Rule.to("example.com").withPorts(8443),
                Rule.to("api.example.com").withMethods("GET"),
                Rule.to("api.example.com").withMethods("POST").withPaths("/v1/*"));
        assertThat(network.allow()).hasSize(4);
    }

    @Test
    void aNetworkThatIsClosedOrOpenTakesNoRulesForDomains() {
        List<Rule> rules = List.of(Rule.to("example.com"), Rule.to("10.0.0.0/8"), Rule.to("example.org"));
        assertThat(errors(() -> new Network(Mode.NONE, rules, List.of(), Caps.DEFAULT)))
                .containsExactly("mode: a network of mode none allows nothing; set the mode to restricted");
        assertThat(errors(() -> new Network(Mode.OPEN, rules, List.of(), Caps.DEFAULT)))
                .hasSize(2)
                .anySatisfy(error -> assertThat(error).startsWith("allow[0]: an open network reaches example.com"))
                .anySatisfy(error -> assertThat(error).startsWith("allow[2]: an open network reaches example.org"));
    }

    @Test
    void capsTellEverythingThatIsWrongWithThem() {
        assertThat(errors(() -> new Caps(-1, -1, 10))).hasSize(3);
    }

    private static List<String> errors(ThrowingCallable work) {
        SandboxException refused = catchThrowableOfType(SandboxException.class, work);
        assertThat(refused.code()).isEqualTo(ErrorCode.INVALID);
        return refused.details().get(SandboxException.ERRORS) instanceof List<?> all
                ? all.stream().map(String::valueOf).toList()
                : List.of();
    }
}
