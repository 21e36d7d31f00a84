package dev.berth.gateway.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TargetTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "127.0.0.1",
                "127.8.8.8",
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "169.254.169.254",
                "100.64.0.1",
                "192.0.0.1",
                "198.18.0.1",
                "224.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "::1",
                "::",
                "::ffff:127.0.0.1",
                "fe80::1",
                "fc00::1",
                "fd00:ec2::254",
                "ff02::1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
                "2001::1"
            })
    void whatIsNotPublicIsRefused(String address) throws Exception {
        assertThat(Target.isPublic(InetAddress.getByName(address))).isFalse();
        String host = address.contains(":") ? "[" + address + "]" : address;
        assertThatThrownBy(() -> Target.of("http://" + host + "/x", false))
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("not public");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2001:4860:4860::8888"})
    void whatIsPublicIsNot(String address) throws Exception {
        assertThat(Target.isPublic(InetAddress.getByName(address))).isTrue();
    }

    @Test
    void spellingsOfLoopbackAreSeenThrough() {
        for (String host : new String[] {"localhost", "2130706433", "127.1", "0x7f.1"}) {
            assertThatThrownBy(() -> Target.of("http://" + host + "/", false))
                    .as(host)
                    .isInstanceOf(SandboxException.class);
        }
    }

    @Test
    void whatIsCalledIsTheAddressThatWasChecked() {
        Target target = Target.of("https://127.0.0.1:8443/a%20b?c=d", true);
        assertThat(target.address().getHostAddress()).isEqualTo("127.0.0.1");
        assertThat(target.port()).isEqualTo(8443);
        assertThat(target.authority()).isEqualTo("127.0.0.1:8443");
        assertThat(target.pathAndQuery()).isEqualTo("/a%20b?c=d");
    }
}
