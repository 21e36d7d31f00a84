package dev.berth.sandbox.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.store.StoreKind;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Packing on this machine: what overlayfs and a sandbox can have in their files. Needs root, crun and python3. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PackTest {
    private static final long MIB = 1 << 20;

    /** Makes, as the sandbox's root user, one of each thing that is easily lost. */
    private static final String ODDITIES = """
            import os, socket, struct
            os.makedirs('/odd'); os.chdir('/odd')
            def write(name, content=b'x'):
                fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o644); os.write(fd, content); os.close(fd)
            for name in (b'new\\nline', b'\\xff\\xfe bad', b'\\xff' * 255, b'--checkpoint-action=exec=sh', b'-rf', b'n' * 255,
                         b' blank ', b'back\\\\slash', b'*[a]?', 'ü'.encode() * 127, b'trailing.'):
                write(name)
            write('owned'); os.chown('owned', 1234, 99); os.chmod('owned', 0o6751)
            os.setxattr('owned', 'user.a=b%3D\\n', b'v\\n\\0w'); os.setxattr('owned', 'user.empty', b'')
            os.link('owned', 'second'); os.mkdir('dir'); os.link('owned', 'dir/third')
            write('able'); os.setxattr('able', 'security.capability', struct.pack('<IIIII', 0x02000001, 0x400, 0, 0, 0))
            acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in [
                (1, 6, 0xffffffff), (2, 4, 1000), (4, 4, 0xffffffff), (0x10, 4, 0xffffffff), (0x20, 0, 0xffffffff)])
            write('listed'); os.mkdir('heirs'); os.mkdir('sticky'); os.chmod('sticky', 0o3777)
            os.setxattr('listed', 'system.posix_acl_access', acl)
            os.setxattr('heirs', 'system.posix_acl_default', acl); write('heirs/child')
            os.mkfifo('fifo', 0o620); listener = socket.socket(socket.AF_UNIX); listener.bind('socket')
            os.symlink('/etc', 'abs'); os.symlink('../../../../etc', 'up'); os.symlink('x' * 4000, 'far'); os.symlink(b'\\xff\\n', 'bad')
            os.lchown('abs', 1000, 1000); os.utime('abs', ns=(1, 123456789012345678), follow_symlinks=False)
            os.link('abs', 'abs2', follow_symlinks=False)
            fd = os.open('holes', os.O_CREAT | os.O_WRONLY); os.ftruncate(fd, 1 << 30)
            os.pwrite(fd, b'middle', 5000000); os.pwrite(fd, b'end', (1 << 30) - 3); os.close(fd)
            fd = os.open('comb', os.O_CREAT | os.O_WRONLY)
            for i in range(300): os.pwrite(fd, b'tooth', i * 65536 + 7)
            os.close(fd)
            fd = os.open('hole', os.O_CREAT | os.O_WRONLY); os.ftruncate(fd, 1 << 33); os.close(fd)
            write('small', b's' * 2000); write('whole', os.urandom(3000001)); write('zeros', bytes(1 << 20)); write('none', b'')
            os.mkdir('closed'); write('closed/f'); os.chmod('closed/f', 0); os.chmod('closed', 0); os.utime('closed', ns=(1, -1500000000))
            here = os.open('.', os.O_RDONLY)
            for level in range(40):
                name = b'deep' + b'p' * 200; os.mkdir(name, dir_fd=here)
                below = os.open(name, os.O_RDONLY, dir_fd=here); os.close(here); here = below
            fd = os.open('bottom', os.O_CREAT | os.O_WRONLY, dir_fd=here); os.write(fd, b'bottom'); os.setxattr(fd, 'user.deep', b'1')
            os.link('bottom', 'bottom2', src_dir_fd=here, dst_dir_fd=here); os.symlink('/abs', 'link', dir_fd=here); os.close(here)
            """;

    /** Prints all there is to know of a tree, but for what packing does not keep: sockets, and links of whiteouts. */
    private static final String LIST = """
            import os, sys, stat, hashlib
            os.chdir(sys.argv[1])
            inodes = {}
            def show(parent, name, path):
                s = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if stat.S_ISSOCK(s.st_mode): return
                link = b'/proc/self/fd/%d/%s' % (parent, name)
                device = stat.S_ISCHR(s.st_mode)
                xattrs = sorted((n, os.getxattr(link, n, follow_symlinks=False)) for n in os.listxattr(link, follow_symlinks=False))
                first = inodes.setdefault(s.st_ino, path) if not device else path
                target = os.readlink(name, dir_fd=parent) if stat.S_ISLNK(s.st_mode) else b''
                digest = ''
                if stat.S_ISREG(s.st_mode):
                    with open(link, 'rb') as f:
                        f.seek(max(0, s.st_size - (1 << 22))); digest = hashlib.sha1(f.read()).hexdigest()
                        f.seek(0); digest += hashlib.sha1(f.read(1 << 24)).hexdigest()
                print(hashlib.sha1(path).hexdigest()[:8], path[-80:], oct(s.st_mode), s.st_uid, s.st_gid, 0 if device else s.st_nlink,
                      hashlib.sha1(first).hexdigest()[:8], s.st_rdev, s.st_mtime_ns, 0 if stat.S_ISDIR(s.st_mode) else s.st_size, xattrs, target, digest)
                if stat.S_ISDIR(s.st_mode):
                    fd = os.open(name, os.O_RDONLY, dir_fd=parent)
                    for child in sorted(os.listdir(fd)): show(fd, os.fsencode(child), path + b'/' + os.fsencode(child))
                    os.close(fd)
            sys.setrecursionlimit(10000)
            top = os.open('.', os.O_RDONLY)
            show(top, b'.', b'.')
            """;

    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);

    @TempDir
    private Path directory;

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }

    @AfterEach
    void leavesNothingBehind() throws IOException {
        machine.provider().list().forEach(Sandbox::destroy);
        machine.provider().checkpoints().forEach(point -> machine.provider().deleteCheckpoint(point.id()));
        for (String place : new String[] {"boxes", "ids", "checkpoints", "pool"}) {
            assertThat(machine.data().resolve(place)).isEmptyDirectory();
        }
        assertThat(ProcessHandle.current()
                        .children()
                        .filter(child -> child.info()
                                .command()
                                .filter(name -> name.endsWith("/tar"))
                                .isPresent()))
                .isEmpty();
    }

    @Test
    void keepsAllThatAFileCanHave() throws Exception {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("odd", "host"));
        Result made = sandbox.run(Command.of("python3", "-c", ODDITIES).withUser("root"));
        assertThat(made.stderr()).isEmpty();
        // What overlayfs writes down about the template: deleted, replaced, renamed, copied up.
        assertThat(sandbox.run(Command.shell("""
                                        rm /etc/hostname /home/user/.profile; rm -r /etc/profile.d; mkdir /etc/profile.d; touch /etc/profile.d/mine
                                        mv /etc/ld.so.conf.d /etc/moved; mv /etc/moved /odd/further; chmod 700 /etc/ssl
                                        chmod 1751 /; chown 5:6 /etc/opt""").withUser("root")).code()).isZero();
        sandbox.stop();
        String before = list(sandbox);
        assertThat(before)
                .contains("trusted.overlay.opaque", "trusted.overlay.redirect", "security.capability")
                .contains("posix_acl_access", "posix_acl_default", "user.a=b%3D");
        Path packed = pack(sandbox);
        assertThat(Files.size(packed)).isLessThan(16 * MIB);
        assertThat(list(sandbox)).isEqualTo(before);
        sandbox.destroy();

        Sandbox again = machine.provider().create(from(packed, "odd"));
        String inside = again.run(
                        Command.shell(
                                "ls /etc/hostname .profile 2>&1 | grep -c cannot; ls /etc/profile.d; ls -A /odd/further; stat -c %a /"))
                .stdout();
        again.stop();
        assertThat(list(again)).isEqualTo(before);
        assertThat(inside).startsWith("2\nmine\n").contains(".conf\n").endsWith("\n1751\n");
        assertThat(pack(again)).hasSize(Files.size(packed));
    }

    @Test
    void whatWasPackedInOneKindOfStoreComesBackInAnother() throws IOException {
        try (TestMachine plain = new TestMachine(RuntimeKind.CRUN, StoreKind.PLAIN, Map.of())) {
            Limits unlimited = Limits.DEFAULT.withDisk(0);
            Sandbox sandbox =
                    plain.provider().create(SandboxSpec.of("wanderer", "host").withLimits(unlimited));
            sandbox.run(Command.shell("echo one > file; rm .bashrc; mkdir dir; ln file dir/link"));
            sandbox.pause();
            Path packed = pack(sandbox);
            Sandbox there = machine.provider().create(from(packed, "wanderer"));
            String look = "cat file; ls -A | grep -c bashrc; stat -c %h dir/link";
            assertThat(there.run(Command.shell(look)).stdout()).isEqualTo("one\n0\n2\n");
            there.stop();
            Sandbox back = plain.provider().create(from(pack(there), "back").withLimits(unlimited));
            assertThat(back.run(Command.shell(look)).stdout()).isEqualTo("one\n0\n2\n");
        }
    }

    @Test
    void itsDiskLimitBindsAndDoesNotKeepItFromComingBack() throws IOException {
        Limits small = Limits.DEFAULT.withDisk(32 * MIB);
        Sandbox sandbox =
                machine.provider().create(SandboxSpec.of("full", "host").withLimits(small));
        assertThat(sandbox.run(Command.shell("head -c 100M /dev/urandom > big; sync"))
                        .stderr())
                .contains("quota");
        sandbox.stop();
        Path packed = pack(sandbox);
        sandbox.destroy();
        Sandbox again = machine.provider().create(from(packed, "full").withLimits(small));
        assertThat(again.run(Command.shell("stat -c %s big")).stdout().strip()).hasSizeGreaterThan(7);
        assertThat(again.run(Command.shell("head -c 8M /dev/urandom > more")).code())
                .isNotZero();
        assertThat(again.usage().diskBytes()).isGreaterThan(20 * MIB);
        again.stop();
        again.wake();
        again.run(Command.shell("rm big more; sync"));
        assertThat(again.run(Command.shell("head -c 8M /dev/urandom > more && echo fine"))
                        .stdout())
                .isEqualTo("fine\n");
        assertThat(again.run(Command.shell("head -c 40M /dev/urandom > big")).code())
                .isNotZero();
    }

    @Test
    void rollsBackToACheckpointOfBeforeItWasPacked() throws IOException {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("returns", "host"));
        sandbox.run(Command.shell("echo one > file"));
        Checkpoint point = sandbox.checkpoint("one");
        sandbox.run(Command.shell("echo two > file"));
        sandbox.stop();
        Path packed = pack(sandbox);
        sandbox.destroy();
        Sandbox again = machine.provider().create(from(packed, "returns"));
        assertThat(again.run(Command.of("cat", "file")).stdout()).isEqualTo("two\n");
        assertThat(again.changesSince(point.id())).hasSize(1);
        again.rollback(point.id());
        assertThat(again.run(Command.of("cat", "file")).stdout()).isEqualTo("one\n");
    }

    @Test
    void aPartOfItIsRefusedAndLeavesNothing() throws IOException {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("torn", "host"));
        sandbox.run(Command.shell("head -c 1M /dev/urandom > file"));
        sandbox.stop();
        byte[] whole = Files.readAllBytes(pack(sandbox));
        sandbox.destroy();
        for (int length : new int[] {0, 100, 512, 1500, whole.length / 2, whole.length / 2 / 512 * 512}) {
            Path torn = Files.write(directory.resolve("torn"), Arrays.copyOf(whole, length));
            assertFails(ErrorCode.INVALID, from(torn, "torn"));
            assertThat(machine.data().resolve("boxes")).isEmptyDirectory();
            assertThat(machine.data().resolve("pool")).isEmptyDirectory();
        }
        assertFails(ErrorCode.NOT_FOUND, from(directory.resolve("nowhere"), "torn"));
        Path whole2 = Files.write(directory.resolve("whole"), whole);
        Sandbox again = machine.provider().create(from(whole2, "torn"));
        assertFails(ErrorCode.CONFLICT, from(whole2, "torn"));
        assertThat(again.run(Command.of("true")).code()).isZero();
    }

    @Test
    void aTemplateIsNamedWithOrWithoutItsVersion() throws IOException {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("versioned", "host"));
        String template = sandbox.info().template();
        assertThat(template).startsWith("host:");
        sandbox.stop();
        Path packed = pack(sandbox);
        Sandbox twin = machine.provider().create(SandboxSpec.of("twin", Origin.packed(template, packed)));
        assertThat(twin.info().template()).isEqualTo(template);
        assertThatThrownBy(
                        () -> machine.provider().create(SandboxSpec.of("other", Origin.packed("host:999999", packed))))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    @Test
    void whoGivesUpEndsThePacking() throws IOException {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("given-up", "host"));
        sandbox.run(Command.shell("head -c 20M /dev/urandom > file"));
        sandbox.stop();
        IOException full = new IOException("no room for it");
        OutputStream target = new OutputStream() {
            private int taken;

            @Override
            public void write(int b) throws IOException {
                throw full;
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                taken += length;
                if (taken > 5 * MIB) {
                    throw full;
                }
            }
        };
        assertThatThrownBy(() -> sandbox.pack(target)).isSameAs(full);
        sandbox.wake();
        assertThat(sandbox.run(Command.of("true")).code()).isZero();
    }

    @Test
    void whatIsWrittenFromOutsideMeanwhileDoesNotDisturb() throws Exception {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("disturbed", "host"));
        sandbox.run(Command.shell("for i in $(seq 2000); do echo $i > f$i; done; head -c 30M /dev/urandom > big"));
        sandbox.pause();
        AtomicBoolean done = new AtomicBoolean();
        Thread writer = Thread.ofPlatform().start(() -> {
            for (int i = 0; !done.get(); i++) {
                sandbox.files().write("f" + i % 100, new ByteArrayInputStream("new".getBytes(UTF_8)));
                sandbox.files().remove("f" + i % 100);
            }
        });
        try {
            for (int i = 0; i < 5; i++) {
                assertThat(pack(sandbox)).exists();
            }
        } finally {
            done.set(true);
            writer.join();
        }
    }

    private static SandboxSpec from(Path packed, String id) {
        return SandboxSpec.of(id, Origin.packed("host", packed));
    }

    private void assertFails(ErrorCode code, SandboxSpec spec) {
        assertThatThrownBy(() -> machine.provider().create(spec))
                .isInstanceOfSatisfying(
                        SandboxException.class,
                        e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }

    private Path pack(Sandbox sandbox) throws IOException {
        Path packed = Files.createTempFile(directory, "packed", ".tar");
        try (OutputStream target = Files.newOutputStream(packed)) {
            sandbox.pack(target);
        }
        return packed;
    }

    /** As the host sees the sandbox's own files, with what overlayfs keeps in them. */
    private String list(Sandbox sandbox) throws IOException, InterruptedException {
        Path upper = machine.data()
                .resolve("pool")
                .resolve(((LocalSandbox) sandbox).record().tree())
                .resolve("upper");
        Process python = new ProcessBuilder("/usr/bin/python3", "-c", LIST, upper.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        python.getInputStream().transferTo(output);
        assertThat(python.waitFor()).isZero();
        return output.toString(UTF_8);
    }
}
