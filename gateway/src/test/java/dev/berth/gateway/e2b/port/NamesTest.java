package dev.berth.gateway.e2b.port;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.e2b.E2bConfig.Naming;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NamesTest {
    @TempDir
    private Path data;

    private static E2bConfig config(Optional<Integer> port, Optional<String> publicDomain) {
        E2bConfig usual = E2bConfig.of(new byte[32]);
        return new E2bConfig(
                usual.domain(),
                usual.secret(),
                usual.internet(),
                usual.longestTimeout(),
                new Naming(port, Optional.empty(), publicDomain));
    }

    @Test
    void onlyNamesOfTheDomainAreServed() {
        E2bConfig config =
                config(Optional.of(0), Optional.of("Boxes.Example.com:8443".toLowerCase(java.util.Locale.ROOT)));
        for (String host : List.of(
                "sbx.localhost",
                "api.sbx.localhost",
                "sandbox.sbx.localhost",
                "8080-iabc.sbx.localhost",
                "49983-iabc.sbx.localhost",
                "api.boxes.example.com",
                "8080-iabc.boxes.example.com")) {
            assertThat(Names.serves(config, host)).as(host).isTrue();
        }
        for (String host : List.of(
                "",
                "null",
                "localhost",
                "127.0.0.1",
                "example.com",
                "evil.sbx.localhost",
                "x.api.sbx.localhost",
                "70000-iabc.sbx.localhost",
                "a.8080-iabc.sbx.localhost",
                "8080-iabc.evil.sbx.localhost",
                "8080-iabc.sbx.localhost.evil.example",
                "8080-iabc.evilsbx.localhost",
                "api.sbx.localhost.",
                ".sbx.localhost")) {
            assertThat(Names.serves(config, host)).as(host).isFalse();
        }
    }

    @Test
    void clientsAreToldThePortUnlessItIsTheUsualOneOrSomethingElseIsInFront() {
        try (Names names = Names.open(config(Optional.of(0), Optional.empty()), ServerConfig.onLoopback(0), data)) {
            assertThat(names.domain()).isEqualTo("sbx.localhost:" + names.port().port());
        }
        try (Names names = Names.open(
                config(Optional.of(0), Optional.of("boxes.example.com")), ServerConfig.onLoopback(0), data)) {
            assertThat(names.domain()).isEqualTo("boxes.example.com");
        }
    }

    @Test
    void aPortThatSomebodyAskedForIsTakenOrNone() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> Names.open(
                                    config(Optional.of(taken.getLocalPort()), Optional.empty()),
                                    ServerConfig.onLoopback(0),
                                    data)
                            .close())
                    .isInstanceOf(SandboxException.class)
                    .hasMessageContaining(Integer.toString(taken.getLocalPort()))
                    .hasMessageContaining("e2b.port");
            try (Names names = Names.open(
                    config(Optional.empty(), Optional.empty()),
                    ServerConfig.onLoopback(taken.getLocalPort() - 1),
                    data)) {
                assertThat(names.port().port())
                        .isNotEqualTo(taken.getLocalPort())
                        .isPositive();
            }
        }
    }

    @Test
    void theAuthorityIsMadeOnceAndItsKeyIsItsOwn() throws IOException {
        try (Names _ = Names.open(config(Optional.of(0), Optional.empty()), ServerConfig.onLoopback(0), data)) {
            assertThat(data.resolve("e2b/ca.pem")).exists();
        }
        String made = Files.readString(data.resolve("e2b/ca.pem"));
        try (Names names = Names.open(config(Optional.of(0), Optional.empty()), ServerConfig.onLoopback(0), data)) {
            names.port().renew();
        }
        assertThat(Files.readString(data.resolve("e2b/ca.pem"))).isEqualTo(made);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data.resolve("e2b/ca.key"))))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data.resolve("e2b/ca.pem"))))
                .isEqualTo("rw-r--r--");
    }

    @Test
    void anOperatorsKeyStoreThatCannotBeReadIsSaidWithoutItsPassword() {
        E2bConfig usual = E2bConfig.of(new byte[32]);
        ServerConfig.Tls tls = new ServerConfig.Tls(data.resolve("none.p12"), "not-for-people");
        E2bConfig config = new E2bConfig(
                "boxes.example.com",
                usual.secret(),
                true,
                usual.longestTimeout(),
                new Naming(Optional.of(0), Optional.of(tls), Optional.empty()));
        assertThatThrownBy(() ->
                        Names.open(config, ServerConfig.onLoopback(0), data).close())
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("none.p12")
                .hasMessageNotContaining("not-for-people");
        assertThat(data.resolve("e2b")).doesNotExist();
    }
}
