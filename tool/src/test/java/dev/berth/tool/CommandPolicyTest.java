package dev.berth.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.tool.CommandPolicy.Reason;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class CommandPolicyTest {
    private static final Set<Language> ALL = EnumSet.allOf(Language.class);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cat /etc/passwd",
                "ls -la / && find /usr -name x",
                "cd /usr/share; pwd",
                "echo hi > out.txt",
                "echo hi > /workspace/a/out.txt",
                "echo hi >> /tmp/x 2>/dev/null",
                "echo hi &> /var/tmp/x",
                "cp /etc/hosts .",
                "cp /etc/hosts /workspace/hosts",
                "tar -tf /opt/x.tar",
                "git log a..b",
                "echo a...b 'x..'",
                "grep -r '>' /etc",
                "sort < /etc/passwd",
                "python3 - <<'EOF'\nopen('../x', 'w')\nrm /etc/passwd\nEOF",
                "cat <<-END > out\n\trm /etc/x ../y\n\tEND\necho done",
                "cat <<A <<B\n../a\nA\n../b\nB\necho done",
                "# rm /etc/passwd ..",
                "echo \"a > /etc/x\"",
                "dd if=/dev/zero of=x",
                "for i in 1 2; do echo $i; done | tee log",
            })
    void letsPass(String command) {
        assertThat(CommandPolicy.ON.check(command, "/workspace", ALL)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "cd .. ~ PARENT_DIRECTORY",
                "cat ../secret ~ PARENT_DIRECTORY",
                "cat a/../b ~ PARENT_DIRECTORY",
                "ls '/workspace/..' ~ PARENT_DIRECTORY",
                "echo x >\"../y\" ~ PARENT_DIRECTORY",
                "echo x > /etc/x ~ WRITE_OUTSIDE",
                "echo x >> /workspaces/x ~ WRITE_OUTSIDE",
                "true && echo x >/opt/x ~ WRITE_OUTSIDE",
                "make 2> /log ~ WRITE_OUTSIDE",
                "make &>/log ~ WRITE_OUTSIDE",
                "date | tee -a /var/log/x ~ WRITE_OUTSIDE",
                "cp -r a /usr/local/a ~ WRITE_OUTSIDE",
                "sudo mv a /usr/bin/ ~ WRITE_OUTSIDE",
                "A=1 touch /root/x ~ WRITE_OUTSIDE",
                "(mkdir -p /srv/data) ~ WRITE_OUTSIDE",
                "rm -rf /home ~ WRITE_OUTSIDE",
                "dd if=/dev/zero of=/disk ~ WRITE_OUTSIDE",
            })
    void refuses(String command, Reason reason) {
        assertThat(CommandPolicy.ON.check(command, "/workspace", ALL))
                .hasValueSatisfying(refusal -> assertThat(refusal.reason()).isEqualTo(reason));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "python x.py ~ true",
                "cd a && python3 -c 1 ~ true",
                "(node x.js) ~ true",
                "ls;npm install ~ true",
                "npx tsc ~ true",
                "cat python.txt ~ false",
                "ls node_modules ~ false",
                "/usr/bin/python3 x ~ false",
            })
    void looksForLanguagesThatAreNotAllowed(String command, boolean refused) {
        assertThat(CommandPolicy.ON
                        .check(command, "/workspace", EnumSet.of(Language.BASH))
                        .isPresent())
                .isEqualTo(refused);
        assertThat(CommandPolicy.ON.check(command, "/workspace", ALL)).isEmpty();
    }

    @Test
    void refusesEverythingWithoutBash() {
        assertThatThrownBy(() -> CommandPolicy.ON.require("ls", "/workspace", EnumSet.of(Language.PYTHON)))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DENIED))
                .hasMessageContaining("allowed are python");
    }

    @Test
    void canBeSwitchedOff() {
        assertThat(CommandPolicy.OFF.check("rm -rf /etc ..", "/workspace", Set.of()))
                .isEmpty();
    }
}
