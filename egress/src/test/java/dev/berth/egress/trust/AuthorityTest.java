package dev.berth.egress.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.berth.egress.trust.Authority.Purpose;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
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

    @Test
    void aKeyStoreIsForAllItsNamesAndForAsLongAsWanted() throws Exception {
        Purpose purpose = new Purpose("ca", "Berth names");
        Authority authority = Authority.in(directory, purpose, Clock.systemUTC(), new SecureRandom());
        KeyStore keys =
                authority.keyStore(List.of("sbx.localhost", "*.sbx.localhost"), Duration.ofDays(90), new char[0]);
        X509Certificate leaf = (X509Certificate) keys.getCertificate("leaf");
        leaf.verify(authority.certificate().getPublicKey());
        assertThat(leaf.getSubjectAlternativeNames().stream().map(name -> String.valueOf(name.get(1))))
                .containsExactly("sbx.localhost", "*.sbx.localhost");
        assertThat(leaf.getNotAfter().toInstant())
                .isCloseTo(Instant.now().plus(Duration.ofDays(90)), within(1, ChronoUnit.HOURS));
        assertThat(Files.readString(directory.resolve("ca.pem"))).isEqualTo(authority.certificatePem());
        assertThat(directory.resolve("egress-ca.pem")).doesNotExist();
    }

    @Test
    void isMadeAnewAfterAServerThatWasStoppedInTheMiddleOfThat() throws Exception {
        authority();
        Clock muchLater = Clock.offset(Clock.systemUTC(), Duration.ofDays(3600));
        // In the way of its certificate, so that the key is all that is written.
        Path obstacle = Files.createDirectories(directory.resolve("egress-ca.pem.new/x"));
        assertThatThrownBy(() -> Authority.in(directory, muchLater, new SecureRandom()))
                .isInstanceOf(IOException.class);
        Files.delete(obstacle);
        Authority made = Authority.in(directory, muchLater, new SecureRandom());
        made.certificate().verify(made.certificate().getPublicKey());
        assertThat(Authority.in(directory, muchLater, new SecureRandom()).certificatePem())
                .isEqualTo(made.certificatePem());
    }

    @Test
    void oneThatIsAboutToRunOutIsMadeAnew() throws Exception {
        Authority first = authority();
        Clock muchLater = Clock.offset(Clock.systemUTC(), Duration.ofDays(3600));
        Authority later = Authority.in(directory, muchLater, new SecureRandom());
        assertThat(later.certificatePem()).isNotEqualTo(first.certificatePem());
        assertThat(Authority.in(directory, muchLater, new SecureRandom()).certificatePem())
                .isEqualTo(later.certificatePem());
    }
}
