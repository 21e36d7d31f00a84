package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.RootFixture.UID;
import static dev.berth.sandbox.local.files.RootFixture.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RootFilesTest {
    @TempDir
    private Path directory;

    private RootFixture sandbox;
    private RootFiles files;

    @BeforeEach
    void makeRoot() throws IOException {
        sandbox = new RootFixture(directory);
        files = sandbox.files;
    }

    @Test
    void readsWhatItWrote() {
        files.write("/a.txt", bytes("hello"));

        assertThat(sandbox.read("/a.txt")).isEqualTo("hello");
    }

    @Test
    void readsAndWritesMoreThanABuffer() throws IOException {
        byte[] content = new byte[1_000_003];
        new Random(1).nextBytes(content);

        files.write("/big", new ByteArrayInputStream(content));

        try (InputStream in = files.read("/big")) {
            assertThat(in.readAllBytes()).isEqualTo(content);
        }
        ByteArrayOutputStream copy = new ByteArrayOutputStream();
        try (InputStream in = files.read("/big")) {
            assertThat(in.transferTo(copy)).isEqualTo(content.length);
        }
        assertThat(copy.toByteArray()).isEqualTo(content);
    }

    @Test
    void relativePathsBeginAtTheHomeOfTheDefaultUser() {
        files.write("notes/today", bytes("x"));

        assertThat(sandbox.root.resolve("home/user/notes/today")).hasContent("x");
        assertThat(files.stat("notes/today").path()).isEqualTo("/home/user/notes/today");
    }

    @Test
    void namesAPathWithoutLookingAtIt() {
        assertThat(files.named("not/./there")).isEqualTo("/home/user/not/there");
        assertThat(files.named("/etc//passwd")).isEqualTo("/etc/passwd");
    }

    @Test
    void newFilesAndTheirParentsBelongToTheDefaultUser() {
        files.write("/made/by/us", bytes("x"));

        assertThat(files.stat("/made"))
                .returns(UID, FileInfo::uid)
                .returns(UID, FileInfo::gid)
                .returns(0755, FileInfo::mode);
        assertThat(files.stat("/made/by")).returns(UID, FileInfo::uid).returns(0755, FileInfo::mode);
        assertThat(files.stat("/made/by/us"))
                .returns(UID, FileInfo::uid)
                .returns(UID, FileInfo::gid)
                .returns(0644, FileInfo::mode);
    }

    @Test
    void idsAreShiftedOnTheHost() throws IOException {
        files.write("/a", bytes("x"));

        assertThat(Files.getAttribute(sandbox.root.resolve("a"), "unix:uid")).isEqualTo(IdMap.BASE + UID);
    }

    @Test
    void anExistingFileKeepsItsOwnerAndPermissions() {
        files.write("/a", bytes("old"), 0750);
        files.chown("/a", 5, 6);

        files.write("/a", bytes("new"));

        assertThat(sandbox.read("/a")).isEqualTo("new");
        assertThat(files.stat("/a"))
                .returns(5, FileInfo::uid)
                .returns(6, FileInfo::gid)
                .returns(0750, FileInfo::mode);
    }

    @Test
    void aWriteWithPermissionsSetsThemWhateverTheUmask() {
        files.write("/a", bytes("x"), 0666);

        assertThat(files.stat("/a").mode()).isEqualTo(0666);
    }

    @Test
    void aReaderOfTheOldFileGoesOnReadingIt() throws IOException {
        files.write("/a", bytes("old"));
        try (InputStream in = files.read("/a")) {
            files.write("/a", bytes("brand new"));

            assertThat(in.readAllBytes()).asString().isEqualTo("old");
        }
    }

    @Test
    void contentThatBreaksOffLeavesTheOldFileAndNothingElse() {
        files.write("/d/a", bytes("old"));
        IOException lost = new IOException("connection lost");

        assertThatThrownBy(() -> files.write("/d/a", breakingOff(lost)))
                .hasCause(lost)
                .hasMessageContaining("connection lost");

        assertThat(sandbox.read("/d/a")).isEqualTo("old");
        assertThat(files.list("/d", 1)).hasSize(1);
    }

    @Test
    void aFullDiskIsALimitAndLeavesTheOldFile() {
        sandbox.sh("mkdir small && mount -t tmpfs -o size=64k tmpfs small");
        try {
            files.write("/small/a", bytes("old"));

            sandbox.assertFails(
                    ErrorCode.LIMIT, () -> files.write("/small/a", new ByteArrayInputStream(new byte[1_000_000])));

            assertThat(sandbox.read("/small/a")).isEqualTo("old");
            assertThat(files.list("/small", 1)).hasSize(1);
        } finally {
            sandbox.sh("umount small");
        }
    }

    @Test
    void writingALinkWritesWhatItPointsTo() {
        sandbox.sh("mkdir d e; echo old > d/real; ln -s ../d/real e/one; ln -s /e/one two");

        files.write("/two", bytes("new"));

        assertThat(sandbox.root.resolve("d/real")).hasContent("new");
        assertThat(files.stat("/two").type()).isEqualTo(FileInfo.Type.LINK);
    }

    @Test
    void writingADanglingLinkMakesItsTarget() {
        sandbox.sh("ln -s /home/user/later link");

        files.write("/link", bytes("x"));

        assertThat(sandbox.read("/home/user/later")).isEqualTo("x");
    }

    @Test
    void linksInACircleAreInvalid() {
        sandbox.sh("ln -s b a; ln -s a b");

        sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/a", bytes("x")));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/a"));
    }

    @Test
    void aDirectoryIsNeitherReadNorWritten() {
        sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/home", bytes("x")));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.append("/home", bytes("x")));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/home"));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/", bytes("x")));
    }

    @Test
    void nothingIsWrittenBelowAFile() {
        files.write("/a", bytes("x"));

        sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/a/b", bytes("x")));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.makeDirectory("/a/b/c"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.read("/a/b"));
    }

    @Test
    void appendAddsToTheEndAndMakesWhatIsMissing() {
        files.append("/logs/a", bytes("one "));
        files.append("/logs/a", bytes("two"));

        assertThat(sandbox.read("/logs/a")).isEqualTo("one two");
        assertThat(files.stat("/logs/a")).returns(UID, FileInfo::uid).returns(0644, FileInfo::mode);
    }

    @Test
    void appendKeepsTheSameFile() throws IOException {
        files.write("/a", bytes("one "));
        sandbox.sh("ln a hard; ln -s a soft");

        files.append("/soft", bytes("two"));

        assertThat(sandbox.read("/hard")).isEqualTo("one two");
    }

    @Test
    void readsARange() throws IOException {
        files.write("/a", bytes("0123456789"));

        try (InputStream in = files.read("/a", 2, 5)) {
            assertThat(in.available()).isEqualTo(5);
            assertThat(in.skip(1)).isEqualTo(1);
            assertThat(in.read()).isEqualTo('3');
            assertThat(in.readAllBytes()).asString().isEqualTo("456");
            assertThat(in.read()).isEqualTo(-1);
            assertThat(in.skip(9)).isZero();
        }
        try (InputStream in = files.read("/a", 100, Long.MAX_VALUE)) {
            assertThat(in.readAllBytes()).isEmpty();
        }
        sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/a", -1, 1));
    }

    @Test
    void whatIsMissingIsNotFound() {
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.stat("/no"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.read("/no"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.list("/no", 1));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.remove("/no"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.remove("/no/where"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.move("/no", "/yes"));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.chmod("/no", 0644));
        sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.chown("/no", 0, 0));
        assertThat(files.exists("/no")).isFalse();
        assertThat(files.exists("/home/no/where")).isFalse();
        assertThat(files.exists("/")).isTrue();
    }

    @Test
    void statTellsWhatThereIs() {
        files.write("/a", bytes("hello"), 0640);
        sandbox.sh("ln -s /nowhere/at/all link; mkfifo pipe; touch -d @1000000000.5 a");

        assertThat(files.stat("/a"))
                .returns("/a", FileInfo::path)
                .returns(FileInfo.Type.FILE, FileInfo::type)
                .returns(5L, FileInfo::size)
                .returns(0640, FileInfo::mode)
                .returns(Instant.ofEpochSecond(1_000_000_000, 500_000_000), FileInfo::modifiedAt);
        assertThat(files.stat("/link").linkTarget()).contains("/nowhere/at/all");
        assertThat(files.stat("/link").type()).isEqualTo(FileInfo.Type.LINK);
        assertThat(files.exists("/link")).isTrue();
        assertThat(files.stat("/pipe").type()).isEqualTo(FileInfo.Type.OTHER);
        assertThat(files.stat("//home/./").path()).isEqualTo("/home");
        assertThat(files.stat("/").type()).isEqualTo(FileInfo.Type.DIRECTORY);
    }

    @Test
    void listsSortedToADepthWithoutFollowingLinks() {
        sandbox.sh("mkdir -p top/b/c; touch top/a top/b/x top/b/c/deep; ln -s /top/b top/link");

        assertThat(files.list("/top", 1)).extracting(FileInfo::path).containsExactly("/top/a", "/top/b", "/top/link");
        assertThat(files.list("/top", 2))
                .extracting(FileInfo::path)
                .containsExactly("/top/a", "/top/b", "/top/b/c", "/top/b/x", "/top/link");
        assertThat(files.list("/top", Integer.MAX_VALUE)).hasSize(6);
        assertThat(files.list("/top/link", 1)).extracting(FileInfo::path).containsExactly("/top/link/c", "/top/link/x");
        assertThat(files.list("/", 1)).extracting(FileInfo::path).containsExactly("/home", "/top");
    }

    @Test
    void listingAFileOrNoDepthIsInvalid() {
        files.write("/a", bytes("x"));

        sandbox.assertFails(ErrorCode.INVALID, () -> files.list("/a", 1));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.list("/", 0));
    }

    @Test
    void aDirectoryThatIsTooLargeToListIsALimit() {
        RootFixture.python("for i in range(100001): open('home/%d' % i, 'w').close()", sandbox.root);

        sandbox.assertFails(ErrorCode.LIMIT, () -> files.list("/home", 1));

        files.remove("/home");
        assertThat(files.exists("/home")).isFalse();
    }

    @Test
    void namesThatAreNotUtf8AreListedWithAReplacementCharacterAndRemovedWithTheirDirectory() {
        RootFixture.python("import os; os.makedirs(b'odd/\\xff\\xfed/sub'); open(b'odd/\\xffx', 'w')", sandbox.root);

        assertThat(files.list("/odd", 3))
                .extracting(FileInfo::path)
                .containsExactly("/odd/\ufffdx", "/odd/\ufffd\ufffdd", "/odd/\ufffd\ufffdd/sub");
        files.remove("/odd");
        assertThat(files.exists("/odd")).isFalse();
    }

    @Test
    void movesAndReplacesFiles() {
        files.write("/a", bytes("a"));
        files.write("/b", bytes("b"));

        files.move("/a", "/b");

        assertThat(sandbox.read("/b")).isEqualTo("a");
        assertThat(files.exists("/a")).isFalse();
    }

    @Test
    void movesALinkAndNotItsTarget() {
        sandbox.sh("echo x > target; ln -s target link");

        files.move("/link", "/home/link");

        assertThat(files.stat("/home/link").linkTarget()).contains("target");
        assertThat(files.exists("/target")).isTrue();
    }

    @Test
    void refusesMovesThatMakeNoSense() {
        files.write("/a", bytes("a"));
        files.write("/full/x", bytes("x"));
        files.makeDirectory("/dir");
        sandbox.sh("mkdir other && mount -t tmpfs tmpfs other");
        try {
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.move("/none", "/no/where"));
            assertThat(files.exists("/no")).isFalse();
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/full/x", "/a/below"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/a", "/dir"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/dir", "/a"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/dir", "/dir/itself"));
            sandbox.assertFails(ErrorCode.CONFLICT, () -> files.move("/dir", "/full"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/a", "/other/a"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.move("/", "/dir/root"));
        } finally {
            sandbox.sh("umount other");
        }
    }

    @Test
    void removesAFileALinkOrATree() {
        sandbox.sh(
                "mkdir -p keep tree/a/b; echo x > keep/me; ln -s /keep tree/a/link; ln -s keep link; touch tree/a/b/c file");

        files.remove("/link");
        files.remove("/tree");
        files.remove("/file");

        assertThat(files.list("/", 3))
                .extracting(FileInfo::path)
                .containsExactly("/home", "/home/user", "/keep", "/keep/me");
    }

    @Test
    void neverRemovesTheRoot() {
        sandbox.assertFails(ErrorCode.INVALID, () -> files.remove("/"));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.remove("/home/.."));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.remove("/../.."));
        assertThat(files.exists("/home/user")).isTrue();
    }

    @Test
    void removesATreeThatIsDeeperThanAnyPath() {
        RootFixture.python("""
                import os
                os.mkdir('deep'); os.chdir('deep')
                for i in range(5000):
                    os.mkdir('d'); open('f', 'w').close(); os.chdir('d')
                """, sandbox.root);

        assertThat(files.list("/deep", Integer.MAX_VALUE)).hasSizeGreaterThan(2000);
        files.remove("/deep");

        assertThat(files.exists("/deep")).isFalse();
    }

    @Test
    void removesADirectoryWithManyFullDirectories() {
        RootFixture.python("import os\nfor i in range(5000): os.makedirs('wide/%d/sub' % i)", sandbox.root);

        files.remove("/wide");

        assertThat(files.exists("/wide")).isFalse();
    }

    @Test
    void doesNotRemoveWhatIsMountedInATree() {
        sandbox.sh("mkdir -p tree/mount && mount -t tmpfs tmpfs tree/mount && touch tree/mount/kept");
        try {
            assertThatThrownBy(() -> files.remove("/tree")).isNotNull();
            assertThat(files.exists("/tree/mount/kept")).isTrue();
        } finally {
            sandbox.sh("umount tree/mount");
        }
    }

    @Test
    void makesADirectoryOnce() {
        assertThat(files.makeDirectory("/a/b/c")).isTrue();
        assertThat(files.makeDirectory("/a/b/c")).isFalse();
        assertThat(files.makeDirectory("/")).isFalse();
        assertThat(files.makeDirectory("/x/../y")).isTrue();
        assertThat(files.exists("/y")).isTrue();
        assertThat(files.stat("/a/b")).returns(UID, FileInfo::uid).returns(0755, FileInfo::mode);
    }

    @Test
    void makesADirectoryBehindALink() {
        sandbox.sh("mkdir real; ln -s real link; ln -s nowhere dangling; touch file");

        assertThat(files.makeDirectory("/link/sub")).isTrue();
        assertThat(files.makeDirectory("/link")).isFalse();
        assertThat(files.stat("/real/sub").type()).isEqualTo(FileInfo.Type.DIRECTORY);
        sandbox.assertFails(ErrorCode.CONFLICT, () -> files.makeDirectory("/dangling"));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.makeDirectory("/file"));
    }

    @Test
    void changesModeAndOwnerThroughALink() {
        sandbox.sh("touch real; ln -s real link");

        files.chmod("/link", 04711);
        assertThat(files.stat("/real").mode()).isEqualTo(04711);
        files.chown("/link", 0, 65535);

        assertThat(files.stat("/real")).returns(0, FileInfo::uid).returns(65535, FileInfo::gid);
        assertThat(files.stat("/link").uid()).isEqualTo(65534);
        sandbox.assertFails(ErrorCode.INVALID, () -> files.chmod("/link", 010000));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.chown("/link", -1, 0));
        sandbox.assertFails(ErrorCode.INVALID, () -> files.chown("/link", 0, 65536));
    }

    @Test
    void followsTheRootToWhereItIsMountedNow() throws IOException {
        Path[] now = {sandbox.root};
        RootFiles moving = new RootFiles(() -> now[0], UID, UID, "/", user -> new Account(user, UID, UID, "/"));
        moving.write("/a", bytes("before"));

        now[0] = Files.createDirectory(directory.resolve("rolled-back"));
        assertThat(moving.exists("/a")).isFalse();
        now[0] = directory.resolve("missing");
        sandbox.assertFails(ErrorCode.UNAVAILABLE, () -> moving.exists("/a"));
    }

    @Test
    void leavesNoDescriptorOpen() throws IOException {
        Runnable everything = () -> {
            files.write("/d/a", bytes("x"));
            files.append("/d/b", bytes("x"));
            files.append("/d/b", bytes("x"));
            assertThat(sandbox.read("/d/a")).isEqualTo("x");
            files.list("/", 9);
            files.chmod("/d/a", 0600);
            files.move("/d/a", "/d/c");
            sandbox.assertFails(ErrorCode.UNAVAILABLE, () -> files.write("/d/b", breakingOff(new IOException("lost"))));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.write("/d/b/c", bytes("x")));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.append("/d", bytes("x")));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.read("/d"));
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.move("/none", "/no/where"));
            files.attributes("/d/c", "", Map.of("a", "b"));
            assertThat(files.attributes("/d/c")).containsEntry("a", "b");
            files.write("/d/c", bytes("y"));
            assertThat(files.resolved("/d/../d/c").path()).isEqualTo("/d/c");
            sandbox.assertFails(ErrorCode.NOT_FOUND, () -> files.resolved("/none"));
            sandbox.assertFails(ErrorCode.INVALID, () -> files.watch("/d/b", true, _ -> {}));
            files.watch("/d", true, _ -> {}).close();
            files.remove("/d");
        };
        everything.run();
        long before = openDescriptors();
        for (int i = 0; i < 50; i++) {
            everything.run();
        }
        assertThat(openDescriptors()).isLessThan(before + 20);
    }

    private static InputStream breakingOff(IOException failure) {
        InputStream broken = new InputStream() {
            @Override
            public int read() throws IOException {
                throw failure;
            }

            @Override
            public int read(byte[] buffer, int offset, int length) throws IOException {
                throw failure;
            }
        };
        return new SequenceInputStream(bytes("half"), broken);
    }

    private static long openDescriptors() throws IOException {
        try (var entries = Files.list(Path.of("/proc/self/fd"))) {
            return entries.count();
        }
    }
}
