package dev.berth.sandbox.local.attack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Attacks that are one system call or a few, listed in {@code resources/attack}, each tried as user and as root. */
interface SystemCallAttacks {
    /** What attack.c exits with when the kernel refused. */
    int REFUSED = 3;

    /** Harmless in namespaces of their own, and so good to show that the program attacks at all. */
    List<String> CONTROLS = List.of(
            "unshares a new user namespace",
            "clones into a new mount namespace",
            "mounts a tmpfs",
            "attaches a new tmpfs by move_mount",
            "clones the mount tree by open_tree",
            "asks for a file's handle",
            "renames the host",
            "opens a packet socket",
            "opens a raw ICMP socket",
            "gives itself an address",
            "reads /proc/1/environ",
            "has CAP_SYS_ADMIN in its bounding set");

    Siege siege();

    /**
     * What a runtime with a kernel of its own lets processes do to that kernel, where it means nothing to the machine.
     * These have to leave the host as it was.
     */
    default Set<String> emulated() {
        return Set.of();
    }

    @TestFactory
    default Stream<DynamicTest> asUser() throws IOException {
        return attacks("user");
    }

    @TestFactory
    default Stream<DynamicTest> asRoot() throws IOException {
        return attacks("root");
    }

    @TestFactory
    default Stream<DynamicTest> outsideTheAttackWorks() throws IOException {
        byte[] program = Weapons.attack();
        List<String> own = List.of("unshare", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--mount-proc");
        return CONTROLS.stream()
                .map(sentence -> dynamicTest("outside, one " + sentence, () -> {
                    Weapons.HostRun run = Weapons.onHost(program, own, sentence);
                    assertThat(run.code()).as(run.output()).isZero();
                }));
    }

    private Stream<DynamicTest> attacks(String user) throws IOException {
        List<String> sentences = Weapons.onHost(Weapons.attack(), List.of(), "--list")
                .output()
                .lines()
                .toList();
        assertThat(sentences).hasSizeGreaterThan(60).doesNotHaveDuplicates().containsAll(CONTROLS);
        return sentences.stream()
                .map(sentence -> dynamicTest("nobody as " + user + " " + sentence, () -> {
                    Result result = siege().hostile().run(siege().weaponised(Command.of("/attack", sentence), user));
                    if (result.code() == 0 && emulated().contains(sentence)) {
                        siege().assertHostUntouched();
                    } else {
                        assertThat(result.code()).as(result.stdout()).isEqualTo(REFUSED);
                    }
                }));
    }
}
