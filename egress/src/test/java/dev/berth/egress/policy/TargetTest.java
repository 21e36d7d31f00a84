package dev.berth.egress.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.egress.policy.Refusal.Reason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TargetTest {

    @ParameterizedTest
    @CsvSource({
        "example.com:443, example.com, 443",
        "EXAMPLE.com.:443, example.com, 443",
        "example.com, example.com, 80",
        "s3-eu-west-1:443, s3-eu-west-1, 443",
        "node.example1:443, node.example1, 443",
        "bücher.example:443, xn--bcher-kva.example, 443",
        "1.2.3.4:8080, 1.2.3.4, 8080",
        "[2001:DB8::1]:443, 2001:db8:0:0:0:0:0:1, 443",
        "[::ffff:1.2.3.4]:443, 1.2.3.4, 443",
        "[::1], 0:0:0:0:0:0:0:1, 80"
    })
    void isReadAsProgramsWriteIt(String authority, String host, int port) throws Exception {
        assertThat(Target.parse(authority, 80)).isEqualTo(new Target(host, port));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ":443",
                "a b:443",
                "user@example.com:443",
                "example.com:0",
                "example.com:65536",
                "example.com:-1",
                "example.com:+1",
                "example.com:",
                "example.com:443:443",
                "example.com/x:443",
                "127.1:443",
                "2130706433:443",
                "0x7f000001:443",
                "0x7f.0.0.1:443",
                "0177.0.0.1:443",
                "127.0.0.01:443",
                "127.0.0.256:443",
                "1.2.3.4.5:443",
                "１２７.0.0.1:443",
                "[fe80::1%eth0]:443",
                "[::1:443",
                "::1]:443",
                "[example.com]:443x",
                "*.example.com:443",
                "example..com:443",
                "-example.com:443",
                "exam\0ple.com:443"
            })
    void isRefusedInSpellingsThatMeanDifferentHostsToDifferentPrograms(String authority) {
        assertThatThrownBy(() -> Target.parse(authority, 80))
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(Reason.BAD_REQUEST));
    }

    @Test
    void isANameOrAnAddress() throws Exception {
        assertThat(Target.parse("server1:443", 80).address()).isEmpty();
        assertThat(Target.parse("server1:443", 80).domain()).isPresent();
        assertThat(Target.parse("1.2.3.4:443", 80).address()).isPresent();
        assertThat(Target.parse("1.2.3.4:443", 80).domain()).isEmpty();
        assertThat(Target.parse("[2001:db8::1]:443", 80)).hasToString("[2001:db8:0:0:0:0:0:1]:443");
    }
}
