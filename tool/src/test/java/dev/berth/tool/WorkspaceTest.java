package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.util.Base64;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The workspace, and writing and reading whole files in it. */
class WorkspaceTest {
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

    @Test
    void isInTheHomeOfTheDefaultUserAndBelongsToIt() {
        assertThat(workspace.directory()).endsWith("/workspace");
        assertThat(testing.sh("cd ~/workspace && pwd -P && test -O . && echo mine"))
                .isEqualTo(workspace.directory() + "\nmine\n");
        assertThat(Workspace.of(testing.sandbox()).directory()).isEqualTo(workspace.directory());
    }

    @Test
    void pathsAreRelativeAndGoDownOnly() {
        assertThat(Workspace.path("a//./b/")).isEqualTo("a/b");
        assertThat(Workspace.path("./")).isEqualTo(".");
        assertThat(Workspace.path("ünï/…")).isEqualTo("ünï/…");
        assertFails(ErrorCode.DENIED, () -> Workspace.path("/etc/passwd"));
        assertFails(ErrorCode.DENIED, () -> Workspace.path("a/../b"));
        assertFails(ErrorCode.INVALID, () -> Workspace.path(""));
        assertFails(ErrorCode.INVALID, () -> Workspace.path("a\0b"));
    }

    @Test
    void aLeadingSlashMayMeanTheWorkspace() {
        assertThat(Workspace.rooted("/a/b")).isEqualTo("a/b");
        assertThat(Workspace.rooted("//")).isEqualTo(".");
        assertThat(Workspace.rooted("a")).isEqualTo("a");
        assertFails(ErrorCode.DENIED, () -> Workspace.rooted("/../etc/passwd"));
        assertFails(ErrorCode.INVALID, () -> Workspace.rooted(""));
    }

    @Test
    void writesAFileWithItsParentsAsTheDefaultUser() {
        assertThat(FileWrite.of("new/dir/file.txt", "grüße\n").run(workspace))
                .isEqualTo(new FileWrite.Written("new/dir/file.txt", 8, true));
        assertThat(FileWrite.of("new/dir/file.txt", "").run(workspace).created())
                .isFalse();
        assertThat(testing.sh("stat -c '%a %s' new/dir/file.txt; test -O new/dir && test -O new/dir/file.txt; echo $?"))
                .isEqualTo("644 0\n0\n");
    }

    @Test
    void appendsAndSetsTheMode() {
        var append = new FileWrite("log", new byte[] {120}, true, OptionalInt.of(0755));

        assertThat(append.run(workspace).created()).isTrue();
        assertThat(append.run(workspace).bytesWritten()).isEqualTo(1);

        assertThat(testing.get("log")).isEqualTo("xx");
        assertThat(testing.sh("stat -c %a log")).isEqualTo("755\n");
    }

    @Test
    void refusesToWriteWhereNoFileCanBe() {
        testing.sh("mkdir dir; ln -s /tmp/out out; ln -s /etc etc; ln -s ../.profile up");

        assertFails(ErrorCode.INVALID, () -> FileWrite.of(".", "x"));
        assertFails(ErrorCode.INVALID, () -> FileWrite.of("dir", "x").run(workspace));
        assertFails(ErrorCode.DENIED, () -> FileWrite.of("/tmp/x", "x"));
        assertFails(ErrorCode.DENIED, () -> FileWrite.of("out", "x").run(workspace));
        assertFails(ErrorCode.DENIED, () -> FileWrite.of("etc/x", "x").run(workspace));
        assertFails(ErrorCode.DENIED, () -> FileWrite.of("up", "x").run(workspace));
        assertFails(ErrorCode.INVALID, () -> new FileWrite("x", new byte[0], false, OptionalInt.of(04755)));
        assertThat(testing.sh("ls /tmp/out 2>&1 || true")).contains("No such file");
    }

    @Test
    void contentIsTextOrBase64AndNothingElse() {
        assertThat(FileWrite.Encoding.parse("base64").decode("AP8=\n")).containsExactly(0, 0xff);
        assertThat(FileWrite.Encoding.parse("utf-8").decode("é")).hasSize(2);
        assertFails(ErrorCode.INVALID, () -> FileWrite.Encoding.parse("latin1"));
        assertFails(ErrorCode.INVALID, () -> FileWrite.Encoding.BASE64.decode("A*=="));
        assertFails(ErrorCode.INVALID, () -> FileWrite.Encoding.BASE64.decode("A"));
        assertFails(ErrorCode.INVALID, () -> FileWrite.Encoding.UTF_8.decode("\ud800"));
    }

    @Test
    void readsBytesWithTypeAndDigest() {
        byte[] png = Base64.getDecoder().decode("iVBORw0KGgoAAAANSUhEUg==");
        testing.put("picture.dat", png);
        testing.put("data.csv", "a,b\n");
        testing.put("unknown", new byte[] {1, 0, 2});
        testing.put("README", "text");

        BinaryRead.Content content = BinaryRead.of("picture.dat").run(workspace);

        assertThat(content.bytes()).isEqualTo(png);
        assertThat(content.base64()).isEqualTo("iVBORw0KGgoAAAANSUhEUg==");
        assertThat(content.mimeType()).isEqualTo("image/png");
        assertThat(content.sha256())
                .isEqualTo(testing.sh("sha256sum picture.dat").substring(0, 64));
        assertThat(BinaryRead.of("data.csv").run(workspace).mimeType()).isEqualTo("text/csv");
        assertThat(BinaryRead.of("unknown").run(workspace).mimeType()).isEqualTo("application/octet-stream");
        assertThat(BinaryRead.of("README").run(workspace).mimeType()).isEqualTo("text/plain");
    }

    @Test
    void refusesMoreBytesThanAskedFor() {
        testing.put("file", "12345");

        assertThat(new BinaryRead("file", 5).run(workspace).size()).isEqualTo(5);
        assertFails(ErrorCode.LIMIT, () -> new BinaryRead("file", 4).run(workspace));
        assertFails(ErrorCode.INVALID, () -> new BinaryRead("file", 0));
        assertFails(ErrorCode.INVALID, () -> new BinaryRead("file", Long.MAX_VALUE));
    }
}
