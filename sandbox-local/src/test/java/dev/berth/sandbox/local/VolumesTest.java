package dev.berth.sandbox.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.Volumes;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Directories that outlive sandboxes. Needs root and crun. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class VolumesTest {
    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);

    @AfterEach
    void close() throws IOException {
        machine.close();
    }

    private Volumes volumes() {
        return machine.provider().volumes();
    }

    private Sandbox create(String name, Mount... mounts) {
        return machine.provider().create(SandboxSpec.of(name, "host").withMounts(mounts));
    }

    private static String sh(Sandbox sandbox, String command) {
        return sandbox.run(Command.shell(command + " 2>&1")).stdout().strip();
    }

    private static String read(SandboxFiles files, String path) throws IOException {
        try (InputStream in = files.read(path)) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }

    private static void write(SandboxFiles files, String path, String text) {
        files.write(path, new ByteArrayInputStream(text.getBytes(UTF_8)));
    }

    @Test
    void severalSandboxesHaveAVolumeAtOnceAndItStaysWhenTheyAreGone() throws Exception {
        volumes().make("v1");
        volumes().make("v1");
        Sandbox one = create("one", new Mount("v1", "/mnt/data"));
        Sandbox two = create("two", new Mount("v1", "/home/deep/er/data"));
        assertThat(sh(one, "echo hello > /mnt/data/a; cat /mnt/data/a")).isEqualTo("hello");
        assertThat(sh(two, "cat /home/deep/er/data/a; echo more >> /home/deep/er/data/a"))
                .isEqualTo("hello");
        assertThat(read(one.files(), "/mnt/data/a")).as("what the server sees").isEqualTo("hello\nmore\n");
        write(two.files(), "/home/deep/er/data/b", "from outside");
        assertThat(sh(one, "cat /mnt/data/b")).isEqualTo("from outside");
        assertThat(read(volumes().files("v1"), "/b")).isEqualTo("from outside");

        assertInUse("v1");
        one.destroy();
        two.destroy();
        assertThat(read(volumes().files("v1"), "/a")).isEqualTo("hello\nmore\n");
        assertThat(volumes().list()).containsExactly("v1");
        volumes().remove("v1");
        volumes().remove("v1");
        assertThat(volumes().list()).isEmpty();
        assertThat(catchThrowableOfType(SandboxException.class, () -> volumes().files("v1"))
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(catchThrowableOfType(SandboxException.class, () -> create("late", new Mount("v1", "/x")))
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(machine.provider().find(new SandboxId("late"))).isEmpty();
    }

    @Test
    void itIsThereAgainAfterStopRollbackAndANewServerAndNoPartOfCheckpoints() throws Exception {
        volumes().make("v1");
        Sandbox sandbox = create("keeps", new Mount("v1", "/mnt/data"));
        sh(sandbox, "echo 1 > /mnt/data/n; echo own > /tmp/own");
        var point = sandbox.checkpoint("point");
        sh(sandbox, "echo 2 > /mnt/data/n; rm /tmp/own");
        sandbox.rollback(point.id());
        assertThat(sh(sandbox, "cat /tmp/own /mnt/data/n")).isEqualTo("own\n2");
        sandbox.stop();
        assertThat(read(sandbox.files(), "/mnt/data/n")).isEqualTo("2\n");
        machine.provider().close();
        machine.pretendReboot();
        machine.reopenWith(machine.config());
        Sandbox again = machine.provider().find(new SandboxId("keeps")).orElseThrow();
        assertThat(read(again.files(), "/mnt/data/n")).isEqualTo("2\n");
        again.wake();
        assertThat(sh(again, "cat /mnt/data/n")).isEqualTo("2");
        Sandbox plain = machine.provider()
                .create(new SandboxSpec(
                        new SandboxId("plain"),
                        Origin.checkpoint(point.id()),
                        SandboxSpec.of("x", "host").limits(),
                        dev.berth.sandbox.Network.NONE,
                        java.util.Map.of(),
                        java.util.Map.of()));
        assertThat(sh(plain, "ls -A /mnt/data")).isEmpty();
        again.destroy();
        plain.destroy();
        assertThat(read(volumes().files("v1"), "/n")).isEqualTo("2\n");
    }

    @Test
    void itIsNotRemovedWhileASandboxWithItIsStillBeingMadeOrIsNotQuiteGone() throws Exception {
        volumes().make("v1");
        try (var _ = ((LocalVolumes) volumes()).hold(List.of(new Mount("v1", "/mnt/data")))) {
            assertInUse("v1");
        }
        Sandbox sandbox = create("going", new Mount("v1", "/mnt/data"));
        sh(sandbox, "echo kept > /mnt/data/a");
        // As destroy() begins, or as a server leaves it that is killed then.
        ((LocalSandbox) sandbox).box().forget();
        assertInUse("v1");
        assertThat(read(volumes().files("v1"), "/a")).isEqualTo("kept\n");
        sandbox.destroy();
        volumes().remove("v1");
        assertThat(volumes().exists("v1")).isFalse();
    }

    private void assertInUse(String volume) {
        SandboxException inUse =
                catchThrowableOfType(SandboxException.class, () -> volumes().remove(volume));
        assertThat(inUse).isNotNull();
        assertThat(inUse.code()).isEqualTo(ErrorCode.CONFLICT);
        assertThat(volumes().exists(volume)).isTrue();
    }

    @Test
    void aLinkAtItsPlaceLeadsNowhereElse() throws Exception {
        volumes().make("v1");
        Path outside = Files.createTempDirectory("berth-volume");
        Sandbox sandbox = create("links", new Mount("v1", "/mnt/data"));
        sh(sandbox, "echo kept > /mnt/data/a");
        sandbox.stop();
        // As a process inside could have done it to the directory beneath, with the volume not there.
        machine.reopen();
        Sandbox again = machine.provider().find(new SandboxId("links")).orElseThrow();
        int before = Mounts.all().size();
        Path upper = machine.provider()
                .machine()
                .store()
                .upper(((LocalSandbox) again).record().tree());
        Files.delete(upper.resolve("mnt/data"));
        Files.createSymbolicLink(upper.resolve("mnt/data"), outside);
        again.wake();
        assertThat(Mounts.all().stream().map(Mounts.Mounted::target)).doesNotContain(outside);
        assertThat(sh(again, "cat /mnt/data/a; readlink /mnt/berth-aside-*")).isEqualTo("kept\n" + outside);
        again.destroy();
        assertThat(Mounts.all().size()).isLessThanOrEqualTo(before);
        Files.delete(outside);
    }

    @Test
    void itIsThereAgainWhateverTheSandboxPutAtItsPlace() throws Exception {
        volumes().make("v1");
        Sandbox sandbox = create("moves", new Mount("v1", "/mnt/data"));
        sh(sandbox, "echo kept > /mnt/data/a");
        Command swap =
                Command.shell("mv /mnt /old; mkdir /mnt; echo own > /mnt/data").withUser("root");
        assertThat(sandbox.run(swap).code()).isZero();
        assertThat(sh(sandbox, "cat /old/data/a")).as("the mount goes along").isEqualTo("kept");
        sandbox.stop();
        sandbox.wake();
        assertThat(sh(sandbox, "cat /mnt/data/a /mnt/berth-aside-*; ls -A /old/data"))
                .isEqualTo("kept\nown");
    }

    @Test
    void aSandboxIsNeverUpWithoutIt() throws Exception {
        volumes().make("v1");
        Sandbox sandbox = create("lacks", new Mount("v1", "/mnt/data"));
        sandbox.stop();
        machine.reopen();
        Sandbox again = machine.provider().find(new SandboxId("lacks")).orElseThrow();
        Path marker = LocalVolumes.directory(machine.provider().machine().store(), "v1")
                .resolveSibling("volume");
        Files.delete(marker);
        for (int attempt = 0; attempt < 2; attempt++) {
            assertThat(catchThrowableOfType(SandboxException.class, again::wake))
                    .isNotNull();
            assertThat(again.state()).isEqualTo(dev.berth.sandbox.SandboxState.STOPPED);
        }
        assertThat(volumes().list()).as("one that is not whole is none").isEmpty();
        Files.createFile(marker);
        again.wake();
        assertThat(sh(again, "grep -c ' /mnt/data ' /proc/self/mounts")).isEqualTo("1");
    }

    @Test
    void noLinkOfATemplateLeadsToAPlaceThatIsTaken() {
        volumes().make("v1");
        Sandbox sandbox = create("linked");
        Command links = Command.shell("ln -s / /b; ln -s /.berth /c; mkdir /d; ln -s ../.berth/link /d/e");
        assertThat(sandbox.run(links.withUser("root")).code()).isZero();
        var point = sandbox.checkpoint("point");
        for (String path : List.of("/b/.berth", "/b/.berth/new", "/c", "/c/link", "/d/e")) {
            SandboxSpec spec = new SandboxSpec(
                            new SandboxId("trapped"),
                            Origin.checkpoint(point.id()),
                            sandbox.limits(),
                            dev.berth.sandbox.Network.NONE,
                            java.util.Map.of(),
                            java.util.Map.of())
                    .withMounts(new Mount("v1", path));
            SandboxException refused = catchThrowableOfType(
                    SandboxException.class, () -> machine.provider().create(spec));
            assertThat(refused).as(path).isNotNull();
            assertThat(refused.code()).as(path).isEqualTo(ErrorCode.CONFLICT);
            assertThat(refused.getMessage()).contains("is a link");
        }
        assertThat(sandbox.files().exists("/.berth/new")).isFalse();
    }

    @Test
    void whatIsPlantedInItLeadsNowhereAndLendsNoRights() throws Exception {
        volumes().make("v1");
        Sandbox sandbox = create("plants", new Mount("v1", "/mnt/data"));
        sh(
                sandbox,
                "ln -s /etc/shadow /mnt/data/link; ln -s ../../../../etc /mnt/data/up; cp /bin/true /mnt/data/suid;"
                        + " chmod 4755 /mnt/data/suid");
        SandboxFiles files = volumes().files("v1");
        assertThat(catchThrowableOfType(SandboxException.class, () -> files.read("/link"))
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(catchThrowableOfType(SandboxException.class, () -> files.list("/up", 1))
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(sh(sandbox, "grep ' /mnt/data ' /proc/self/mounts"))
                .contains("nosuid")
                .contains("nodev");
        assertThat(files.stat("/link").linkTarget()).contains("/etc/shadow");
        Path directory = LocalVolumes.directory(machine.provider().machine().store(), "v1");
        assertThat((int) Files.getAttribute(directory.resolve("suid"), "unix:uid"))
                .isNotZero();
    }

    @Test
    void placesThatCannotBeAreRefused() {
        volumes().make("v1");
        for (String path :
                new String[] {"/", "relative", "/proc/x", "/sys", "/dev", "/a/../b", "/a//b", "/.berth/link"}) {
            assertThat(catchThrowableOfType(SandboxException.class, () -> new Mount("v1", path))
                            .code())
                    .as(path)
                    .isEqualTo(ErrorCode.INVALID);
        }
        assertThat(catchThrowableOfType(
                                SandboxException.class,
                                () -> SandboxSpec.of("x", "host")
                                        .withMounts(new Mount("v1", "/a"), new Mount("v1", "/a/b")))
                        .code())
                .isEqualTo(ErrorCode.INVALID);
    }
}
