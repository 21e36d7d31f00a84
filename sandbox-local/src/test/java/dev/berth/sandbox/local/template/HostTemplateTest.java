package dev.berth.sandbox.local.template;

import static dev.berth.sandbox.local.template.TestingTemplates.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTemplateTest {
    @TempDir
    Path dir;

    private TemplateStore store;
    private Template host;

    @BeforeEach
    void makeHost() {
        store = new TemplateStore(dir.resolve("templates"));
        host = store.find("host").orElseThrow();
    }

    /** JUnit would warn about every link in a root that leads out of the directory. */
    @AfterEach
    void removeTemplates() throws IOException {
        FileTree.deleteChildren(dir);
    }

    @Test
    void isThereWithoutABuildAndMadeOnce() {
        assertThat(host.id()).isEqualTo("host:1");
        assertThat(host.readOnlyHostPaths()).containsExactly("/usr");
        assertThat(host.sudo()).isFalse();
        assertThat(store.find("host")).contains(host);
        assertThat(new TemplateStore(store.directory()).find("host")).contains(host);
    }

    @Test
    void runsTheMachinesProgramsAsUserInItsHome() throws IOException {
        assertThat(run(host, "id -un; pwd; echo $HOME; touch x && echo writable; python3 -c 'print(6*7)'"))
                .startsWith("user\n/home/user\n/home/user\nwritable\n42");
        assertThat(run(host, "echo a b | awk '{print $2}'; bash -lc 'echo login'"))
                .isEqualTo("b\nlogin");
    }

    @Test
    void mountsTheMachinesProgramsReadOnly() throws IOException {
        assertThat(run(host, "root", "touch /usr/x")).contains("Read-only file system");
    }

    @Test
    void hidesTheHostsSecretsAndPeoplesFiles() throws IOException {
        assertThat(run(
                        host,
                        "root",
                        "ls -A /root /home /opt /srv /mnt /var/lib /var/log /etc/ssh /etc/sudoers 2>/dev/null"))
                .doesNotContain("ssh")
                .doesNotContain("sudoers")
                .isEqualTo("/home:\nuser\n/mnt:\n/opt:\n/root:\n/srv:\n/var/lib:\n/var/log:\nstatus 2");
        String passwd = Files.readString(Path.of("/etc/passwd"));
        assertThat(etc("passwd").lines().toList())
                .hasSizeLessThan(passwd.lines().toList().size());
        assertThat(etc("shadow").lines()).allMatch(line -> line.split(":")[1].matches("[*!]"));
        assertThat(etc("hostname")).isEqualTo("sandbox\n");
        assertThat(etc("resolv.conf")).isEmpty();
    }

    @Test
    void copiesNoFileThatIsNotMeantForEverybody() throws IOException {
        try (var files = Files.walk(host.root())) {
            for (Path file : files.filter(f -> Files.isRegularFile(f, LinkOption.NOFOLLOW_LINKS))
                    .toList()) {
                assertThat(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1))
                        .as(file.toString())
                        .doesNotContain("PRIVATE KEY-----");
            }
        }
    }

    @Test
    void copiesFromEtcOnlyWhatIsPublic() throws IOException {
        Path fake = fakeHost();
        Files.createDirectories(fake.resolve("etc/ssl/certs"));
        Files.writeString(fake.resolve("etc/ssl/certs/good.pem"), "-----BEGIN CERTIFICATE-----\n");
        Files.writeString(
                fake.resolve("etc/ssl/certs/key.pem"),
                "-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n");
        Files.createSymbolicLink(fake.resolve("etc/ssl/certs/leak"), Path.of("/root/.ssh/id_rsa"));
        Path closed = Files.writeString(fake.resolve("etc/services"), "closed");
        Files.setAttribute(closed, "unix:mode", 0600);
        Files.writeString(fake.resolve("etc/protocols"), "open");
        Files.writeString(fake.resolve("etc/secret"), "secret");

        Path root = hostOf(fake).find("host").orElseThrow().root();

        assertThat(root.resolve("etc/ssl/certs/good.pem")).exists();
        assertThat(root.resolve("etc/protocols")).hasContent("open");
        for (String absent : List.of("etc/ssl/certs/key.pem", "etc/ssl/certs/leak", "etc/services", "etc/secret")) {
            assertThat(Files.exists(root.resolve(absent), LinkOption.NOFOLLOW_LINKS))
                    .as(absent)
                    .isFalse();
        }
    }

    @Test
    void isMadeAnewWhenWhatItCopiesChanges() throws IOException {
        Path fake = fakeHost();
        TemplateStore fakeStore = hostOf(fake);
        assertThat(fakeStore.find("host").orElseThrow().version()).isEqualTo(1);

        Path cache = Files.writeString(fake.resolve("etc/ld.so.cache"), "new");
        Files.setLastModifiedTime(cache, FileTime.fromMillis(1));

        assertThat(fakeStore.find("host").orElseThrow().version()).isEqualTo(2);
        assertThat(fakeStore.find("host:1")).isPresent();
    }

    @Test
    void saysThatAMachineWithoutMergedUsrIsNotSupported() throws IOException {
        Path fake = fakeHost();
        Files.delete(fake.resolve("lib"));
        Files.createDirectory(fake.resolve("lib"));

        assertThatThrownBy(() -> hostOf(fake).find("host"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED))
                .hasMessageContaining("'base'");
        assertThat(hostOf(fake).list()).isEmpty();
    }

    @Test
    void belongsToShiftedIdsWithTheModesThatPeopleExpect() throws IOException {
        try (var files = Files.walk(host.root())) {
            for (Path file : files.toList()) {
                assertThat((int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS))
                        .as(file.toString())
                        .isIn(IdMap.BASE, IdMap.BASE + 1000);
            }
        }
        assertThat(mode("tmp")).isEqualTo(01777);
        assertThat(mode("var/tmp")).isEqualTo(01777);
        assertThat(mode("root")).isEqualTo(0700);
        assertThat(mode("etc/shadow")).isEqualTo(0640);
        assertThat(host.root().resolve(".berth/link")).isEmptyDirectory();
        assertThat(host.root().resolve(".berth/guest")).isEmptyFile();
    }

    private Path fakeHost() throws IOException {
        Path fake = Files.createDirectory(dir.resolve("fake"));
        for (String link : List.of("bin", "sbin", "lib")) {
            Files.createSymbolicLink(fake.resolve(link), Path.of("usr/" + link));
        }
        Files.createDirectory(fake.resolve("etc"));
        return fake;
    }

    private TemplateStore hostOf(Path fake) {
        return new TemplateStore(dir.resolve("fake-templates"), fake, Clock.systemUTC());
    }

    private String etc(String name) throws IOException {
        return Files.readString(host.root().resolve("etc").resolve(name));
    }

    private int mode(String path) throws IOException {
        return (int) Files.getAttribute(host.root().resolve(path), "unix:mode") & 07777;
    }
}
