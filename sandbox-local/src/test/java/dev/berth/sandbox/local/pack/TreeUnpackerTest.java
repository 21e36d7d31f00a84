package dev.berth.sandbox.local.pack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is made of a stream that no packer wrote. Needs root, to give files to others. */
class TreeUnpackerTest {
    @TempDir
    private Path directory;

    private Path outside;
    private Path tree;

    @BeforeEach
    void makePlaces() throws IOException {
        outside = Files.createDirectory(directory.resolve("outside"));
        tree = Files.createDirectory(directory.resolve("tree"));
    }

    @Test
    void makesWhatIsThere() throws IOException {
        unpack(new HandmadeTar()
                .root()
                .directory("./a/")
                .file("./a/f", "content")
                .hardLink("./a/second", "./a/f")
                .link("./up", "../../outside")
                .record("mtime", "-1.5")
                .file("./old", "")
                .end());
        assertThat(Files.readString(tree.resolve("a/f"))).isEqualTo("content");
        assertThat(Files.readSymbolicLink(tree.resolve("up"))).isEqualTo(Path.of("../../outside"));
        assertThat(Files.isSameFile(tree.resolve("a/f"), tree.resolve("a/second")))
                .isTrue();
        assertThat(Files.getLastModifiedTime(tree.resolve("old")).toMillis()).isEqualTo(-1500);
    }

    @Test
    void aLinkLeadsNowhere() throws IOException {
        for (String target : List.of(outside.toString(), "../outside", "elsewhere")) {
            refuses(new HandmadeTar().root().link("./a", target).file("./a/x", "evil"));
            refuses(new HandmadeTar().root().link("./a", target).directory("./a/"));
            refuses(new HandmadeTar().root().link("./a", target).file("./a", "evil"));
            refuses(new HandmadeTar()
                    .root()
                    .link("./a", target)
                    .directory("./a/")
                    .file("./a/x", "evil"));
            refuses(new HandmadeTar()
                    .root()
                    .directory("./a/")
                    .link("./b", target)
                    .file("./b/x", "evil"));
            refuses(new HandmadeTar()
                    .root()
                    .directory("./a/")
                    .link("./a", target)
                    .file("./a/x", "evil"));
        }
    }

    @Test
    void aNameLeadsNowhere() throws IOException {
        for (String name : List.of(
                "../outside/x",
                "./../outside/x",
                "/etc/evil",
                "./a/../x",
                ".//x",
                "./a//x",
                "x",
                "./.",
                "./..",
                "",
                ".",
                "./a/./x")) {
            refuses(new HandmadeTar().root().directory("./a/").file(name, "evil"));
            refuses(new HandmadeTar()
                    .root()
                    .directory("./a/")
                    .record("path", name)
                    .file("./fine", "evil"));
        }
        refuses(new HandmadeTar().root().record("path", "./a\0b").file("./fine", "evil"));
        refuses(new HandmadeTar().root().root());
        refuses(new HandmadeTar().file("./x", "evil"));
    }

    @Test
    void aSecondNameIsOfAFileInTheTree() throws IOException {
        Path secret = Files.writeString(outside.resolve("secret"), "secret");
        for (String target :
                List.of(secret.toString(), "../outside/secret", "./../outside/secret", "./l/secret", "./")) {
            refuses(new HandmadeTar().root().link("./l", outside.toString()).hardLink("./x", target));
        }
        refuses(new HandmadeTar().root().hardLink("./x", "./not-there"));
    }

    @Test
    void refusesWhatItDoesNotKnow() throws IOException {
        refuses(new HandmadeTar().root().entry('g', "./x", "", "11 path=./a\n"));
        refuses(new HandmadeTar().root().entry('L', "./x", "", "./long"));
        refuses(new HandmadeTar().root().entry('S', "./x", "", ""));
        refuses(new HandmadeTar().root().entry('5', "./x/", "", "content"));
        refuses(new HandmadeTar().root().record("size", "99999999999999999999").file("./x", "x"));
        refuses(new HandmadeTar().root().record("size", "-5").file("./x", "x"));
        refuses(new HandmadeTar().root().record("mtime", "soon").file("./x", "x"));
        refuses(new HandmadeTar().root().record("uid", "root").file("./x", "x"));
        refuses(new HandmadeTar().root().record("GNU.sparse.major", "0").file("./x", "x"));
        for (String content :
                List.of("", "1", "1\n", "a\n", "99999999\n", "-1\n", "1\n5\n99\nx", "99999999999999999999\n")) {
            refuses(new HandmadeTar()
                    .root()
                    .entry(
                            'x',
                            "./p",
                            "",
                            "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.name=./sp\n27 GNU.sparse.realsize=99\n")
                    .file("./x", content));
        }
        for (String records :
                List.of("5 a=b", "x a=b\n", "99 a=b\n", "0 a=b\n", "7 ab\n \n", "-6 a=b\n", "6 a=b\n\n")) {
            refuses(new HandmadeTar().root().entry('x', "./p", "", records).file("./x", "x"));
        }
    }

    @Test
    void isNotContentWithAPart() throws IOException {
        byte[] whole = new HandmadeTar()
                .root()
                .directory("./a/")
                .record("mtime", "5")
                .file("./a/f", "x".repeat(3000))
                .end();
        for (int length = 0; length < whole.length; length += 100) {
            refuses(Arrays.copyOf(whole, length));
        }
        refuses(new HandmadeTar().root().file("./x", "x").withoutEnd());
    }

    /** Whatever a bit says, it is refused or makes files in the tree; it never ends in an error of ours. */
    @Test
    void livesWithAnyBitFlipped() throws IOException {
        byte[] whole = new HandmadeTar()
                .root()
                .directory("./a/")
                .record("SCHILY.xattr.user.x", "y")
                .file("./a/f", "x")
                .link("./l", "a")
                .hardLink("./h", "./a/f")
                .end();
        Random random = new Random(1);
        for (int round = 0; round < 500; round++) {
            byte[] flipped = whole.clone();
            flipped[random.nextInt(flipped.length)] ^= (byte) (1 << random.nextInt(8));
            try {
                unpack(flipped);
            } catch (SandboxException | IOException e) {
                assertThat(e).hasMessageNotContaining("null");
            }
            assertThat(outside).isEmptyDirectory();
            clear();
        }
    }

    private void unpack(byte[] content) throws IOException {
        TreeUnpacker.unpack(Files.write(directory.resolve("content"), content), tree);
    }

    private void refuses(HandmadeTar tar) throws IOException {
        refuses(tar.end());
    }

    private void refuses(byte[] content) throws IOException {
        List<String> before = outside();
        assertThatThrownBy(() -> unpack(content)).satisfies(e -> {
            if (e instanceof SandboxException known) {
                assertThat(known.code()).as(known.getMessage()).isEqualTo(ErrorCode.INVALID);
            } else {
                assertThat(e).isInstanceOf(IOException.class);
            }
        });
        assertThat(outside()).isEqualTo(before);
        assertThat(Path.of("/etc/evil")).doesNotExist();
        clear();
    }

    private List<String> outside() throws IOException {
        try (Stream<Path> files = Files.list(outside)) {
            return files.map(Path::toString).sorted().toList();
        }
    }

    private void clear() throws IOException {
        Directories.remove(tree);
        Files.createDirectory(tree);
    }
}
