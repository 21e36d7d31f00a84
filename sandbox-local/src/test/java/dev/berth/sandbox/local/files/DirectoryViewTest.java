package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileEvent;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A view of one directory: everything works in it, and nothing leads out of it into the rest of the sandbox. */
@Timeout(300)
class DirectoryViewTest {
    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private SandboxFiles view;

    @BeforeEach
    void makeRoot() throws IOException {
        sandbox = new RootFixture(directory);
        sandbox.sh("mkdir -p home/user/ws/sub beside; echo beside > beside/secret; echo a > home/user/ws/a");
        view = sandbox.files.within("ws");
    }

    @AfterEach
    void nothingReachedOutside() throws IOException {
        assertThat(sandbox.read("/beside/secret")).isEqualTo("beside\n");
        assertThat(sandbox.files.list("/beside", 1)).hasSize(1);
        assertThat(sandbox.files.stat("/beside/secret").mode()).isEqualTo(0644);
        sandbox.assertNothingReachedOutside();
    }

    private String read(String path) throws IOException {
        try (InputStream in = view.read(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void showsPathsRelativeToTheDirectory() {
        view.write("sub/deep/file", bytes("x"));

        assertThat(view.list(".", 3))
                .extracting(FileInfo::path)
                .containsExactly("a", "sub", "sub/deep", "sub/deep/file");
        assertThat(view.list("sub", 1)).extracting(FileInfo::path).containsExactly("sub/deep");
        assertThat(view.stat(".").path()).isEqualTo(".");
        assertThat(view.stat("./sub//deep/").path()).isEqualTo("sub/deep");
        assertThat(view.named("./sub//deep/")).isEqualTo("sub/deep");
        assertThat(view.stat("a").name()).isEqualTo("a");
    }

    @Test
    void allOperationsWorkInIt() throws IOException {
        assertThat(view.makeDirectory("new/er")).isTrue();
        assertThat(view.makeDirectory(".")).isFalse();
        view.write("new/file", bytes("1"), 0600);
        view.append("new/file", bytes("2"));
        view.move("new/file", "moved");
        view.chmod("moved", 0640);
        view.chown("moved", 5, 6);

        assertThat(read("moved")).isEqualTo("12");
        assertThat(view.stat("moved").mode()).isEqualTo(0640);
        assertThat(view.stat("moved").uid()).isEqualTo(5);
        assertThat(sandbox.read("/home/user/ws/moved")).isEqualTo("12");

        view.remove("new");
        view.remove("moved");
        assertThat(view.list(".", 1)).extracting(FileInfo::path).containsExactly("a", "sub");
        sandbox.assertFails(ErrorCode.INVALID, () -> view.remove("."));
        sandbox.assertFails(ErrorCode.INVALID, () -> view.write(".", bytes("x")));
        sandbox.assertFails(ErrorCode.INVALID, () -> view.move(".", "x"));
    }

    @Test
    void aWatchTellsRelativePaths() throws Exception {
        var events = new LinkedBlockingQueue<FileEvent>();
        try (var _ = view.watch("sub", true, events::add)) {
            view.write("sub/file", bytes("x"));
            assertThat(events.poll(60, TimeUnit.SECONDS)).isEqualTo(new FileEvent(FileEvent.Kind.CREATED, "sub/file"));
        }
        sandbox.sh("ln -s /beside home/user/ws/out");
        sandbox.assertFails(ErrorCode.DENIED, () -> view.watch("out", true, events::add));
    }

    @Test
    void wordsThatLeadOutsideAreRefused() {
        for (String path : new String[] {"/beside/secret", "/", "../beside", "..", "sub/../a", "sub/../../x", "./.."}) {
            sandbox.assertFails(ErrorCode.DENIED, () -> view.read(path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.stat(path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.exists(path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.list(path, 1));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.write(path, bytes("x")));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.move("a", path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.remove(path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.within(path));
        }
        sandbox.assertFails(ErrorCode.INVALID, () -> view.read("a\0b"));
        sandbox.assertFails(ErrorCode.INVALID, () -> view.read(""));
    }

    @Test
    void linksThatLeadOutsideAreRefused() {
        sandbox.sh("""
                cd home/user/ws
                ln -s /beside absolute; ln -s ../../../beside relative; ln -s /beside/secret file; ln -s ../../../beside/new made
                ln -s /home/user/ws/a turns-back; ln -s ../../user/ws/a climbs-and-returns; ln -s absolute chain
                ln -s . self; mkdir d; ln -s ../../../../beside d/out; ln -s / root
                """);
        for (String path : new String[] {
            "absolute/secret",
            "relative/secret",
            "file",
            "turns-back",
            "climbs-and-returns",
            "chain/secret",
            "self/self/file",
            "d/out/secret",
            "root/beside/secret",
            "root/home/user/ws/a"
        }) {
            sandbox.assertFails(ErrorCode.DENIED, () -> view.read(path));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.write(path, bytes("x")));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.append(path, bytes("x")));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.chmod(path, 0777));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.chown(path, 0, 0));
        }
        for (String path : new String[] {"absolute", "relative", "chain", "d/out", "root"}) {
            sandbox.assertFails(ErrorCode.DENIED, () -> view.list(path, 1));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.makeDirectory(path + "/new"));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.write(path + "/new/er", bytes("x")));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.move("a", path + "/new"));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.remove(path + "/secret"));
            sandbox.assertFails(ErrorCode.DENIED, () -> view.within(path).stat("."));
        }
        sandbox.assertFails(ErrorCode.DENIED, () -> view.write("made", bytes("x")));
    }

    @Test
    void linksThatStayInsideAreFollowed() throws IOException {
        sandbox.sh("cd home/user/ws; ln -s ../a sub/up; ln -s sub dir; ln -s sub/new dangling");

        assertThat(read("sub/up")).isEqualTo("a\n");
        assertThat(read("dir/up")).isEqualTo("a\n");
        view.write("dangling", bytes("made"));
        assertThat(read("sub/new")).isEqualTo("made");
        assertThat(view.stat("dir").linkTarget()).contains("sub");
        view.remove("dir");
        assertThat(view.exists("sub/new")).isTrue();
    }

    @Test
    void aViewOfAViewIsNarrower() throws IOException {
        sandbox.sh("cd home/user/ws; ln -s ../a sub/up; echo s > sub/s; ln -s sub link");
        SandboxFiles narrow = view.within("sub");

        assertThat(narrow.list(".", 1)).extracting(FileInfo::path).containsExactly("s", "up");
        sandbox.assertFails(ErrorCode.DENIED, () -> narrow.read("up"));
        assertThat(view.within("link").exists("s")).isTrue();
    }

    @Test
    void aDirectoryThatIsMissingIsFoundOnceItIsThere() {
        SandboxFiles later = sandbox.files.within("/later/on");

        assertThat(later.exists("x")).isFalse();
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> later.write("x", bytes("x")));
        sandbox.files.makeDirectory("/later/on");
        later.write("x", bytes("x"));
        assertThat(sandbox.read("/later/on/x")).isEqualTo("x");
    }

    @Test
    void linksOfProcAreRefusedEvenIfProcIsThere() {
        sandbox.sh("mkdir home/user/ws/proc && mount -t proc proc home/user/ws/proc");
        try {
            sandbox.assertFails(ErrorCode.INVALID, () -> view.read("proc/self/root/beside/secret"));
            sandbox.assertFails(ErrorCode.INVALID, () -> view.list("proc/self/cwd", 1));
        } finally {
            sandbox.sh("umount home/user/ws/proc");
        }
    }
}
