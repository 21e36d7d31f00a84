package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a sandbox may plant to have the server read, change or wait for something of the host. */
@Timeout(300)
class HostileFilesTest {
    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private RootFiles files;

    @BeforeEach
    void makeRoot() throws IOException {
        sandbox = new RootFixture(directory);
        files = sandbox.files;
    }

    @AfterEach
    void nothingReachedOutside() throws IOException {
        sandbox.assertNothingReachedOutside();
    }

    @Test
    void anAbsoluteLinkStaysInside() {
        sandbox.sh("mkdir etc; echo inside > etc/passwd; ln -s /etc/passwd link; ln -s " + sandbox.outside + " out");

        assertThat(sandbox.read("/link")).isEqualTo("inside\n");
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.read("/out/secret"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.list("/out", 1));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.chmod("/out/secret", 0777));
    }

    @Test
    void aChainOfUpwardStepsStaysInside() {
        String up = "../".repeat(30);
        sandbox.sh("ln -s " + up + "outside climb; ln -s " + up + "outside/secret steal");

        for (String path : new String[] {
            "/" + up + "outside/secret", up + "outside/secret", "/climb/secret", "/steal", "/home/../../outside/secret"
        }) {
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.read(path));
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.chmod(path, 0777));
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.chown(path, 0, 0));
        }
        assertThat(files.list("/../..", 1)).extracting(FileInfo::name).contains("home");
    }

    @Test
    void writesThroughLinksThatClimbStayInside() {
        sandbox.sh("ln -s ../../../outside climb; ln -s ../outside/secret steal");

        files.write("/steal", bytes("x"));
        files.append("/steal", bytes("y"));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.makeDirectory("/outside/secret"));
        assertThat(files.resolved("/steal").path()).isEqualTo("/outside/secret");
        files.write("/climb/new", bytes("x"));
        files.move("/climb/new", "/climb/newer");
        files.remove("/climb/newer");

        assertThat(sandbox.read("/outside/secret")).isEqualTo("xy");
    }

    @Test
    void removingALinkOrATreeWithLinksLeavesTheTargets() {
        sandbox.sh("mkdir tree; ln -s ../../outside tree/out; ln -s ../outside out; ln ../outside/secret tree/hard");

        files.remove("/out");
        files.remove("/tree");

        assertThat(files.exists("/tree")).isFalse();
    }

    @Test
    void linksOfProcAreRefusedEvenIfProcIsThere() {
        sandbox.sh(
                "mkdir proc && mount -t proc proc proc; ln -s /proc/self/root/etc/passwd esc; ln -s /proc/self/cwd cwd");
        try {
            sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/esc"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/proc/self/root/etc/passwd"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.list("/proc/self/root", 1));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/cwd/x", bytes("x")));
        } finally {
            sandbox.sh("umount proc");
        }
    }

    @Test
    void aPipeASocketOrADeviceIsNeitherReadNorWritten() {
        sandbox.sh("mkfifo pipe; mknod zero c 1 5; mknod disk b 7 0; mknod tty c 5 0; ln -s /pipe link");
        RootFixture.python("import socket; socket.socket(socket.AF_UNIX).bind('sock')", sandbox.root);

        for (String path : new String[] {"/pipe", "/zero", "/disk", "/tty", "/sock", "/link"}) {
            sandbox.assertFails(ErrorCode.INVALID, () -> files.read(path));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.write(path, bytes("x")));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.append(path, bytes("x")));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.list(path, 1));
            assertThat(files.exists(path)).isTrue();
            files.chmod(path, 0600);
        }
        assertThat(files.list("/", 1)).extracting(FileInfo::type).contains(FileInfo.Type.OTHER);
        files.remove("/pipe");
        files.remove("/zero");
        assertThat(files.exists("/pipe")).isFalse();
    }

    @Test
    void aFileUnderALeaseDoesNotMakeTheServerWait() throws IOException {
        sandbox.sh("echo x > leased");
        Process holder = sandbox.startPython("""
                signal.signal(signal.SIGIO, signal.SIG_IGN)
                fd = os.open('leased', os.O_RDWR)
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                print('ready', flush=True)
                sys.stdin.read()
                """);
        try {
            sandbox.assertFails(ErrorCode.UNAVAILABLE, () -> files.read("/leased"));
            sandbox.assertFails(ErrorCode.UNAVAILABLE, () -> files.append("/leased", bytes("x")));
            files.write("/leased", bytes("new"));
            assertThat(sandbox.read("/leased")).isEqualTo("new");
        } finally {
            holder.destroyForcibly();
        }
    }

    @Test
    void aHardLinkIsAFileLikeAnyOther() {
        sandbox.sh("echo x > a; ln a b");

        assertThat(sandbox.read("/b")).isEqualTo("x\n");
        files.write("/b", bytes("y"));
        assertThat(sandbox.read("/a")).isEqualTo("x\n");
    }

    @Test
    void aProgramThatIsRunningIsReplacedButNotAppendedTo() throws IOException {
        sandbox.sh("cp /bin/sleep program");
        Process running = new ProcessBuilder(sandbox.root.resolve("program").toString(), "60").start();
        try {
            sandbox.assertFails(ErrorCode.CONFLICT, () -> files.append("/program", bytes("x")));
            files.write("/program", bytes("x"));
            assertThat(files.stat("/program").mode()).isEqualTo(0755);
        } finally {
            running.destroyForcibly();
        }
    }

    @Test
    void aSetIdBitDoesNotSurviveNewContent() {
        sandbox.sh("echo x > a; chmod 4755 a");

        files.write("/a", bytes("y"));

        assertThat(files.stat("/a").mode()).isEqualTo(0755);
    }
}
