package dev.berth.sandbox.local.files;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.local.files.Accounts.Account;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class AccountsTest {
    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private Accounts accounts;

    @BeforeEach
    void makeRoot() throws IOException {
        sandbox = new RootFixture(directory);
        Files.createDirectory(sandbox.root.resolve("etc"));
        accounts = new Accounts(() -> sandbox.root);
    }

    private void passwd(String content) throws IOException {
        Files.writeString(sandbox.root.resolve("etc/passwd"), content);
    }

    @Test
    void findsAUserByNameOrNumberWithItsGroups() throws IOException {
        passwd("root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1001:User,,,:/home/user:/bin/zsh\n");
        Files.writeString(
                sandbox.root.resolve("etc/group"),
                "root:x:0:\nsudo:x:27:other,user\nuser:x:1001:user\ndocker:x:999:user\nnot:x:998:users\n");
        Account user = new Account("user", 1000, 1001, "/home/user", "/bin/zsh", List.of(27, 999));

        assertThat(accounts.find("user")).contains(user);
        assertThat(accounts.find("1000")).contains(user);
        assertThat(accounts.find("root")).contains(new Account("root", 0, 0, "/root", "/bin/bash", List.of()));
        assertThat(accounts.find("nobody")).isEmpty();
        assertThat(accounts.find("")).isEmpty();
    }

    @Test
    void aSandboxWithoutAccountsHasNone() {
        assertThat(accounts.find("root")).isEmpty();
    }

    @Test
    void linesThatMakeNoSenseArePassedOver() throws IOException {
        passwd("""
                # a comment
                user
                user:x:-1:0::/:/bin/sh
                user:x:99999999999:0::/:/bin/sh
                user:x:65536:0::/:/bin/sh
                user:x:0:1795162112::/:/bin/sh
                user:x:１:0::/:/bin/sh
                user:x:0:0:\0:/:/bin/sh
                :x:5:5::/:/bin/sh
                user:x:7:8::relative:
                user:x:0:0::/second:/bin/sh
                """);

        assertThat(accounts.find("user")).contains(new Account("user", 7, 8, "/", "/bin/sh", List.of()));
        assertThat(accounts.find("5")).isEmpty();
    }

    @Test
    void onlyTheFirstMegabyteCounts() throws IOException {
        passwd("first:x:1:1::/:/bin/sh\n" + "#\n".repeat(1 << 20) + "last:x:2:2::/:/bin/sh\n");

        assertThat(accounts.find("first")).isPresent();
        assertThat(accounts.find("last")).isEmpty();
    }

    @Test
    void aLinkToTheHostsAccountsLeadsNowhere() {
        sandbox.sh("ln -s ../../../../../../../../etc/passwd etc/passwd");

        sandbox.assertFails(ErrorCode.INVALID, () -> accounts.find("root"));
    }

    @Test
    @Timeout(60)
    void aPipeInItsPlaceDoesNotBlock() {
        sandbox.sh("mkfifo etc/passwd");

        sandbox.assertFails(ErrorCode.INVALID, () -> accounts.find("root"));
    }
}
