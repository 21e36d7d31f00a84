package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.allocated;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Copying many files into the workspace, from friends and others. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class FileCopyTest {
    private static TestingWorkspace testing;
    private static Workspace workspace;

    @BeforeAll
    static void start() {
        testing = new TestingWorkspace();
        workspace = testing.workspace();
    }

    @AfterEach
    void clear() {
        testing.clear();
    }

    @AfterAll
    static void stop() throws IOException {
        testing.close();
    }

    private static FileCopy.Copied copy(byte[] tar) {
        return FileCopy.tar(workspace, new ByteArrayInputStream(tar), FileCopy.Limits.DEFAULT);
    }

    /** What puts entries into an archive. */
    private interface Entries {
        void addTo(TarArchiveOutputStream tar) throws IOException;
    }

    private static byte[] tar(Entries entries) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes, "UTF-8")) {
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
            entries.addTo(tar);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static void file(TarArchiveOutputStream tar, String name, String content, int mode) throws IOException {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(bytes.length);
        entry.setMode(mode);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    private static void special(TarArchiveOutputStream tar, String name, byte flag, String target) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, flag, true);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    @Test
    void copiesAListAndTellsWhatItRefused() {
        FileCopy.Copied copied = FileCopy.files(
                workspace,
                List.of(
                        new FileCopy.Source("a/b", "1".getBytes(StandardCharsets.UTF_8), OptionalInt.of(0700)),
                        new FileCopy.Source("../up", new byte[1], OptionalInt.empty()),
                        new FileCopy.Source("/abs", new byte[1], OptionalInt.empty()),
                        new FileCopy.Source("a", new byte[1], OptionalInt.empty()),
                        new FileCopy.Source("c", "22".getBytes(StandardCharsets.UTF_8), OptionalInt.empty())),
                FileCopy.Limits.DEFAULT);

        assertThat(copied.written()).isEqualTo(2);
        assertThat(copied.bytes()).isEqualTo(3);
        assertThat(copied.errors())
                .extracting(FileCopy.Refused::code)
                .containsExactly(ErrorCode.DENIED, ErrorCode.DENIED, ErrorCode.INVALID);
        assertThat(testing.sh("stat -c %a a/b; cat c")).isEqualTo("700\n22");
    }

    @Test
    void unpacksFilesAndDirectoriesWithTheirModes() throws IOException {
        String deep = "d/".repeat(60) + "file";
        byte[] tar = tar(out -> {
            out.putArchiveEntry(new TarArchiveEntry("dir/"));
            out.closeArchiveEntry();
            file(out, "./dir/script.sh", "echo", 04755);
            file(out, "ünï/" + "n".repeat(200), "x", 0600);
            file(out, deep, "y", 0644);
        });
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(tar);
        }

        FileCopy.Copied copied = copy(tar);

        assertThat(copied.written()).isEqualTo(3);
        assertThat(copied.bytes()).isEqualTo(6);
        assertThat(copied.refused()).isZero();
        assertThat(copied.stopped()).isEmpty();
        assertThat(testing.sh("stat -c %a dir/script.sh ünï/n*; test -O dir && echo mine; cat " + deep))
                .isEqualTo("755\n600\nmine\ny");
        assertThat(copy(packed.toByteArray())).isEqualTo(copied);
    }

    @Test
    void takesWhatTheSandboxesTarMakes() {
        testing.sh("mkdir in; cd in; echo 1 > a; mkdir b; echo 2 > b/c; tar cf ../t.tar .; cd ..; rm -r in");

        FileCopy.Copied copied = FileCopy.tar(workspace, workspace.files().read("t.tar"), FileCopy.Limits.DEFAULT);

        assertThat(copied.written()).isEqualTo(2);
        assertThat(copied.refused()).isZero();
        assertThat(testing.get("b/c")).isEqualTo("2\n");
    }

    @Test
    void nothingInAHostileArchiveLeavesTheWorkspace() {
        testing.sh("ln -s /tmp planted; ln -s ../escaped loose");

        FileCopy.Copied copied = copy(tar(out -> {
            file(out, "/tmp/absolute", "x", 0644);
            file(out, "../escaped", "x", 0644);
            file(out, "a/../../escaped", "x", 0644);
            special(out, "link", TarArchiveEntry.LF_SYMLINK, "/tmp");
            file(out, "link/through", "x", 0644);
            special(out, "hard", TarArchiveEntry.LF_LINK, "/etc/passwd");
            special(out, "device", TarArchiveEntry.LF_CHR, "");
            special(out, "block", TarArchiveEntry.LF_BLK, "");
            special(out, "pipe", TarArchiveEntry.LF_FIFO, "");
            file(out, "planted/through", "x", 0644);
            file(out, "loose", "x", 0644);
            special(out, "../dir/", TarArchiveEntry.LF_DIR, "");
            file(out, "good", "x", 0644);
        }));

        assertThat(copied.written()).isEqualTo(2);
        assertThat(copied.refused()).isEqualTo(11);
        assertThat(copied.errors()).extracting(FileCopy.Refused::code).containsOnly(ErrorCode.DENIED);
        assertThat(testing.sh("ls; ls link; ls -d ../escaped ../dir /tmp/absolute /tmp/through 2>/dev/null || true"))
                .isEqualTo("good\nlink\nloose\nplanted\nthrough\n");
        assertThat(testing.sh("test -L link || echo directory")).isEqualTo("directory\n");
    }

    @Test
    void stopsAtTheLimitsOfEntriesAndBytes() {
        byte[] tar = tar(out -> {
            for (int i = 0; i < 10; i++) {
                file(out, "f" + i, "12345", 0644);
            }
        });

        FileCopy.Copied few = FileCopy.tar(workspace, new ByteArrayInputStream(tar), new FileCopy.Limits(3, 1000));
        FileCopy.Copied small = FileCopy.tar(workspace, new ByteArrayInputStream(tar), new FileCopy.Limits(100, 12));

        assertThat(few.written()).isEqualTo(3);
        assertThat(few.stopped()).get().extracting(FileCopy.Refused::code).isEqualTo(ErrorCode.LIMIT);
        assertThat(small.written()).isEqualTo(2);
        assertThat(small.stopped()).get().extracting(FileCopy.Refused::path).isEqualTo("f2");
    }

    @Test
    void anArchiveThatIsCutOffOrNoneLeavesWhatWasWhole() {
        byte[] tar = tar(out -> {
            file(out, "first", "x", 0644);
            file(out, "second", "y".repeat(5000), 0644);
        });

        FileCopy.Copied cut = copy(Arrays.copyOf(tar, 3000));
        FileCopy.Copied broken = FileCopy.tar(
                workspace,
                new SequenceInputStream(new ByteArrayInputStream(tar, 0, 3000), new Broken()),
                FileCopy.Limits.DEFAULT);
        FileCopy.Copied garbage = copy("this is no archive at all".repeat(100).getBytes(StandardCharsets.UTF_8));

        assertThat(cut.written()).isEqualTo(1);
        assertThat(cut.stopped()).get().extracting(FileCopy.Refused::code).isEqualTo(ErrorCode.INVALID);
        assertThat(broken).usingRecursiveComparison().ignoringFields("stopped").isEqualTo(cut);
        assertThat(broken.stopped()).isPresent();
        assertThat(workspace.files().exists("second")).isFalse();
        assertThat(garbage.stopped()).get().extracting(FileCopy.Refused::code).isEqualTo(ErrorCode.INVALID);
        assertThat(copy(new byte[0]).written()).isZero();
        assertThat(testing.sh("ls -A")).isEqualTo("first\n");
    }

    @Test
    void sparseFilesAreRefused() {
        testing.sh("truncate -s 1T hole; tar cSf t.tar hole; rm hole");

        FileCopy.Copied copied = FileCopy.tar(workspace, workspace.files().read("t.tar"), FileCopy.Limits.DEFAULT);

        assertThat(copied.written()).isZero();
        assertThat(workspace.files().exists("hole")).isFalse();
    }

    @Test
    void aLongNameWithoutEndIsNotKeptInMemory() throws IOException {
        for (byte flag : new byte[] {TarArchiveEntry.LF_GNUTYPE_LONGNAME, TarArchiveEntry.LF_PAX_EXTENDED_HEADER_LC}) {
            TarArchiveEntry entry = new TarArchiveEntry("bomb", flag, true);
            entry.setSize(4L << 30);
            byte[] header = new byte[512];
            entry.writeEntryHeader(header);
            byte[] junk = "a".repeat(1 << 20).getBytes(StandardCharsets.UTF_8);
            Enumeration<InputStream> parts = Collections.enumeration(Collections.nCopies(4096, junk).stream()
                    .<InputStream>map(ByteArrayInputStream::new)
                    .toList());

            long allocated = allocated(() -> {
                FileCopy.Copied copied = FileCopy.tar(
                        workspace,
                        new SequenceInputStream(new ByteArrayInputStream(header), new SequenceInputStream(parts)),
                        FileCopy.Limits.DEFAULT);
                assertThat(copied.stopped()).isPresent();
            });

            assertThat(allocated).isLessThan(32 << 20);
        }
    }

    @Test
    void aLargeFileGoesThroughInConstantMemory() throws IOException {
        long size = 1L << 30;
        TarArchiveEntry entry = new TarArchiveEntry("large", true);
        entry.setSize(size);
        byte[] header = new byte[512];
        entry.writeEntryHeader(header);
        byte[] zeros = new byte[1 << 20];
        Enumeration<InputStream> parts = Collections.enumeration(Collections.nCopies(1025, zeros).stream()
                .<InputStream>map(ByteArrayInputStream::new)
                .toList());

        long allocated = allocated(() -> assertThat(FileCopy.tar(
                                workspace,
                                new SequenceInputStream(
                                        new ByteArrayInputStream(header), new SequenceInputStream(parts)),
                                FileCopy.Limits.DEFAULT)
                        .bytes())
                .isEqualTo(size));

        assertThat(workspace.files().stat("large").size()).isEqualTo(size);
        assertThat(allocated).isLessThan(16 << 20);
    }

    @Test
    void aDirectoryGoesOutAsItIs() throws IOException {
        testing.sh("""
                mkdir -p 'd/sub ünï/empty'; echo 1 > d/a; printf x > "d/sub ünï/$(printf 'n%.0s' $(seq 200))"
                chmod 751 d/a; ln -s /etc/passwd d/link; ln -s /etc d/etc; mkfifo d/pipe; touch -d @1700000000 d/a
                """);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        new DirectoryTar("d").writeTo(bytes, workspace);

        testing.put("t.tar", bytes.toByteArray());
        testing.sh("mkdir out; tar xf t.tar -C out; rm d/pipe; diff -r --no-dereference d out");
        assertThat(testing.sh("stat -c '%a %Y' out/a; readlink out/link")).isEqualTo("751 1700000000\n/etc/passwd\n");
        FileCopy.Copied back = copy(bytes.toByteArray());
        assertThat(back.written()).isEqualTo(2);
        assertThat(back.refused()).isEqualTo(2);
    }

    @Test
    void aDirectoryThatChangesMeanwhileGivesAWholeArchive() throws Exception {
        testing.sh("mkdir -p d/sub; echo inside > d/sub/passwd; ln -s /etc d/out");
        try (var _ = testing.swapping("d/sub", "d/out")) {
            for (int i = 0; i < 200; i++) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                new DirectoryTar(".").writeTo(bytes, workspace);
                assertThat(bytes.toString(StandardCharsets.UTF_8)).doesNotContain("root:");
            }
        }
    }

    @Test
    void aLargeFileGoesOutInConstantMemory() {
        testing.sh("truncate -s 2G large");

        long allocated = allocated(() -> {
            try {
                new DirectoryTar(".").writeTo(OutputStream.nullOutputStream(), workspace);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });

        assertThat(allocated).isLessThan(16 << 20);
    }

    @Test
    void aMillionRefusedEntriesAreCountedAndNotAllKept() throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry("/absolute", true);
        byte[] header = new byte[512];
        entry.writeEntryHeader(header);
        byte[] thousand = new byte[512 * 1000];
        for (int i = 0; i < 1000; i++) {
            System.arraycopy(header, 0, thousand, i * 512, 512);
        }

        FileCopy.Copied copied = FileCopy.tar(workspace, repeated(1000, thousand), new FileCopy.Limits(2_000_000, 1));

        assertThat(copied.refused()).isEqualTo(1_000_000);
        assertThat(copied.errors()).hasSize(100);
        assertThat(copy(thousand).refused()).isEqualTo(1000);
    }

    @Test
    void aFullDiskEndsTheCopyAndSaysWhatWasCopied() throws IOException {
        testing.sandbox().limit(testing.sandbox().limits().withDisk(20 << 20));
        try {
            FileCopy.Copied copied = FileCopy.files(
                    workspace,
                    List.of(
                            new FileCopy.Source("small", new byte[1], OptionalInt.empty()),
                            new FileCopy.Source("large", new byte[100 << 20], OptionalInt.empty()),
                            new FileCopy.Source("never", new byte[1], OptionalInt.empty())),
                    FileCopy.Limits.DEFAULT);

            assertThat(copied.written()).isEqualTo(1);
            assertThat(copied.stopped())
                    .get()
                    .extracting(FileCopy.Refused::path)
                    .isEqualTo("large");
        } finally {
            testing.sandbox().limit(testing.sandbox().limits().withDisk(8L << 30));
        }
    }

    private static InputStream repeated(int times, byte[] block) {
        Enumeration<InputStream> parts = Collections.enumeration(Collections.nCopies(times, block).stream()
                .<InputStream>map(ByteArrayInputStream::new)
                .toList());
        return new SequenceInputStream(parts);
    }

    /** A connection that goes away. */
    private static final class Broken extends InputStream {
        @Override
        public int read() throws IOException {
            throw new IOException("connection reset");
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            throw new IOException("connection reset");
        }
    }
}
