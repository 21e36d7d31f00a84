package dev.berth.egress.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AuthorityTest {
    @TempDir
    private Path directory;

    private Authority authority() throws IOException {
        return Authority.in(directory, Clock.systemUTC(), new SecureRandom());
    }

    @Test
    void isMadeOnceAndLoadedAgain() throws Exception {
        Authority first = authority();

        assertThat(authority().certificatePem())
                .isEqualTo(first.certificatePem())
                .startsWith("-----BEGIN CERTIFICATE-----");
        assertThat(first.certificate().getBasicConstraints()).isZero();
        first.certificate().verify(first.certificate().getPublicKey());
    }

    @Test
    void keepsItsKeyToItselfAndLeavesNothingHalfWritten() throws Exception {
        authority();

        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("egress-ca.key"))))
                .isEqualTo("rw-------");
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder("egress-ca.key", "egress-ca.pem", "egress-ca.lock");
        }
    }

    @Test
    void aKeyAndACertificateThatDoNotBelongTogetherAreRefused() throws Exception {
        authority();
        byte[] key = Files.readAllBytes(directory.resolve("egress-ca.key"));
        Files.delete(directory.resolve("egress-ca.pem"));
        authority();
        Files.write(directory.resolve("egress-ca.key"), key);

        assertThatThrownBy(this::authority)
                .isInstanceOf(IOException.class)
                .hasMessageContaining("remove both")
                .hasMessageNotContaining("PRIVATE");
    }

    @Test
    void whatItHasMadeForAHostIsKeptForAWhile() throws Exception {
        Authority authority = authority();

        assertThat(authority.context("a.test")).isSameAs(authority.context("a.test"));
        for (String host : List.of("127.0.0.1", "::1", "a".repeat(63) + ".test")) {
            assertThat(authority.context(host)).isNotNull();
        }
        for (int i = 0; i < 1100; i++) {
            authority.context("h" + i + ".test");
        }
        assertThat(authority.cached()).isEqualTo(1024);
    }
}
