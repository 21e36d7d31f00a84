package dev.berth.sandbox.local.pack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.github.luben.zstd.Zstd;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.template.TarFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made of archives that anybody may have written. Needs root. */
final class ArchiveUnpackerTest {
    @TempDir
    private Path dir;

    private Path target;

    @BeforeEach
    void makeTarget() throws IOException {
        target = Files.createDirectory(dir.resolve("target"));
    }

    private void unpack(byte[] archive) throws IOException {
        Path file = Files.write(dir.resolve("archive"), archive);
        ArchiveUnpacker.unpack(file, target, ArchiveUnpacker.Bounds.COPY);
    }

    private void apply(TarFile layer) throws IOException {
        apply(layer, new Allowance(ArchiveUnpacker.Bounds.IMAGE));
    }

    private void apply(TarFile layer, Allowance allowance) throws IOException {
        ArchiveUnpacker.apply(new ByteArrayInputStream(layer.gzip()), target, allowance);
    }

    @Test
    void makesFilesLinksAndMissingDirectories() throws IOException {
        unpack(new TarFile()
                .file("a/b/c.txt", 0640, 1000, "content")
                .directory("a", 0700)
                .link("a/link", "b/c.txt")
                .hardLink("second", "a/b/c.txt")
                .gzip());

        assertThat(target.resolve("a/b/c.txt")).hasContent("content");
        assertThat(Files.getAttribute(target.resolve("a/b/c.txt"), "unix:uid")).isEqualTo(IdMap.toHost(1000));
        assertThat((int) Files.getAttribute(target.resolve("a/b/c.txt"), "unix:mode") & 07777)
                .isEqualTo(0640);
        assertThat((int) Files.getAttribute(target.resolve("a"), "unix:mode") & 07777)
                .isEqualTo(0700);
        assertThat(Files.readSymbolicLink(target.resolve("a/link"))).isEqualTo(Path.of("b/c.txt"));
        assertThat(Files.getAttribute(target.resolve("second"), "unix:nlink")).isEqualTo(2);
    }

    @Test
    void readsPlainAndZstdToo() throws IOException {
        unpack(new TarFile().file("plain", "1").bytes());
        unpack(Zstd.compress(new TarFile().file("zstd", "2").bytes()));

        assertThat(target.resolve("plain")).hasContent("1");
        assertThat(target.resolve("zstd")).hasContent("2");
    }

    @Test
    void readsLongNamesOfBothKinds() throws IOException {
        String name = "d/".repeat(60) + "file";
        byte[] pax = "%d path=%s\n".formatted(name.length() + 10, name).getBytes(StandardCharsets.UTF_8);
        unpack(new TarFile()
                .entry('x', "pax", "", 0, 0, pax)
                .file("short", "by pax")
                .entry('L', "././@LongLink", "", 0, 0, (name + "2\0").getBytes(StandardCharsets.UTF_8))
                .file("short", "by gnu")
                .bytes());

        assertThat(target.resolve(name)).hasContent("by pax");
        assertThat(target.resolve(name + "2")).hasContent("by gnu");
    }

    @ParameterizedTest
    @ValueSource(strings = {"../out", "a/../../out", "..", "/../out", "a/.."})
    void refusesNamesThatLeadOut(String name) {
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(new TarFile().file(name, "x").bytes()))
                .withMessageContaining("leads out")
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.INVALID);
        assertThat(dir.resolve("out")).doesNotExist();
    }

    @Test
    void refusesNamesThatNoPathHasRoomFor() {
        byte[] name = ("d/".repeat(1100) + "file\0").getBytes(StandardCharsets.UTF_8);

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(new TarFile()
                        .entry('L', "././@LongLink", "", 0, 0, name)
                        .file("short", "")
                        .bytes()))
                .withMessageContaining("2048 bytes");
    }

    @Test
    void anAbsoluteNameIsBelowTheDirectoryAsWell() throws IOException {
        unpack(new TarFile().file("/etc/marker", "x").bytes());

        assertThat(target.resolve("etc/marker")).hasContent("x");
        assertThat(Path.of("/etc/marker")).doesNotExist();
    }

    @Test
    void aLinkOnTheWayLeadsIntoTheDirectoryOnly() throws IOException {
        Path outside = Files.createDirectory(dir.resolve("outside"));
        unpack(new TarFile()
                .directory("real", 0755)
                .link("absolute", "/real")
                .link("up", "../../../real")
                .file("absolute/one", "1")
                .file("up/two", "2")
                .bytes());

        assertThat(target.resolve("real/one")).hasContent("1");
        assertThat(target.resolve("real/two")).hasContent("2");

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(new TarFile()
                        .link("evil", outside.toString())
                        .file("evil/file", "x")
                        .bytes()));
        assertThat(outside).isEmptyDirectory();
    }

    @Test
    void aFileTakesThePlaceOfALinkAndIsNotWrittenThroughIt() throws IOException {
        Path outside = Files.writeString(dir.resolve("outside"), "mine");
        unpack(new TarFile()
                .link("name", outside.toString())
                .file("name", "theirs")
                .bytes());

        assertThat(outside).hasContent("mine");
        assertThat(Files.isSymbolicLink(target.resolve("name"))).isFalse();
        assertThat(target.resolve("name")).hasContent("theirs");
    }

    @Test
    void aHardLinkToAFileOutsideIsRefused() throws IOException {
        Path outside = Files.writeString(dir.resolve("outside"), "mine");

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(
                        new TarFile().hardLink("name", outside.toString()).bytes()))
                .withMessageContaining("not there");
        assertThat(target.resolve("name")).doesNotExist();
    }

    @Test
    void makesNoDevices() throws IOException {
        unpack(new TarFile().device("null").file("file", "x").bytes());

        assertThat(Files.exists(target.resolve("null"), LinkOption.NOFOLLOW_LINKS))
                .isFalse();
        assertThat(target.resolve("file")).hasContent("x");
    }

    @Test
    void refusesMoreThanItsBounds() throws IOException {
        Path file = Files.write(
                dir.resolve("archive"),
                new TarFile().file("a", "12345").file("b", "12345").bytes());

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> ArchiveUnpacker.unpack(file, target, new ArchiveUnpacker.Bounds(8, 10)))
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.LIMIT);
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> ArchiveUnpacker.unpack(file, target, new ArchiveUnpacker.Bounds(10_000, 1)))
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.LIMIT);
    }

    @Test
    void countsWhatIsReadAndMadeAlsoWhereNoFileComesOfIt() {
        byte[] much = new byte[10_000];
        TarFile unknown = new TarFile().entry('V', "label", "", 0, 0, much);
        TarFile content = new TarFile().entry('5', "directory", "", 0755, 0, much);
        TarFile deep = new TarFile().file("a/b/c/d/e/f", "");

        for (TarFile tar : new TarFile[] {unknown, content, deep}) {
            Allowance allowance = new Allowance(new ArchiveUnpacker.Bounds(5_000, 5));
            assertThatExceptionOfType(SandboxException.class)
                    .isThrownBy(() -> apply(tar, allowance))
                    .extracting(SandboxException::code)
                    .isEqualTo(ErrorCode.LIMIT);
        }
    }

    @Test
    void theLayersOfAnImageShareTheirBounds() throws IOException {
        Allowance allowance = new Allowance(new ArchiveUnpacker.Bounds(10_000, 3));
        apply(new TarFile().file("a", "").file("b", ""), allowance);

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> apply(new TarFile().file("c", "").file("d", ""), allowance))
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.LIMIT);
    }

    @Test
    void refusesMoreAboutAFileThanAnybodyHasToSay() {
        TarFile many = new TarFile();
        for (int i = 0; i < 9; i++) {
            many.entry('x', "pax", "", 0, 0, "8 a%d=bc\n".formatted(i).getBytes(StandardCharsets.UTF_8));
        }
        String value = "x".repeat(600_000);
        TarFile large = new TarFile();
        for (int i = 0; i < 2; i++) {
            large.entry(
                    'x', "pax", "", 0, 0, "600011 k%d=%s\n".formatted(i, value).getBytes(StandardCharsets.UTF_8));
        }

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(many.file("file", "").bytes()))
                .withMessageContaining("too much");
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(large.file("file", "").bytes()))
                .withMessageContaining("too long");
    }

    @Test
    void anOpaqueDirectoryHidesTheSameWhereverTheArchiveSaysSo() throws IOException {
        for (boolean first : new boolean[] {true, false}) {
            String name = first ? "first" : "last";
            apply(new TarFile().file(name + "/sub/old", "1").file(name + "/sub/gone/old", "1"));
            TarFile layer = new TarFile();
            if (first) {
                layer.file(name + "/.wh..wh..opq", "");
            }
            layer.file(name + "/sub/new", "2");
            if (!first) {
                layer.file(name + "/.wh..wh..opq", "");
            }
            apply(layer);

            assertThat(target.resolve(name + "/sub")).isDirectoryContaining(path -> path.endsWith("new"));
            assertThat(target.resolve(name + "/sub/old")).doesNotExist();
            assertThat(target.resolve(name + "/sub/gone")).doesNotExist();
        }
    }

    @Test
    void saysWhenItIsNoArchiveOrOnlyAPart() {
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack("x".repeat(2000).getBytes(StandardCharsets.UTF_8)))
                .withMessageContaining("cannot be read");
        byte[] whole = new TarFile().file("a", "1".repeat(5000)).gzip();
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> unpack(java.util.Arrays.copyOf(whole, whole.length / 2)))
                .withMessageContaining("ends too early");
    }

    @Test
    void whiteoutsTakeAwayWhatLayersBelowHave() throws IOException {
        apply(new TarFile()
                .file("kept", "1")
                .file("gone", "1")
                .file("tree/below/file", "1")
                .file("opaque/old", "1")
                .file("opaque/sub/old", "1"));
        apply(new TarFile()
                .file(".wh.gone", "")
                .file("tree/.wh.below", "")
                .file("opaque/new", "2")
                .file("opaque/.wh..wh..opq", "")
                .file("opaque/sub/newer", "2")
                .file(".wh.never-was", ""));

        assertThat(target.resolve("kept")).exists();
        assertThat(target.resolve("gone")).doesNotExist();
        assertThat(target.resolve("tree")).isEmptyDirectory();
        assertThat(target.resolve("opaque/old")).doesNotExist();
        assertThat(target.resolve("opaque/sub/old")).doesNotExist();
        assertThat(target.resolve("opaque/new")).hasContent("2");
        assertThat(target.resolve("opaque/sub/newer")).hasContent("2");
        assertThat(target.resolve(".wh.gone")).doesNotExist();
    }

    @Test
    void aWhiteoutCannotReachOut() throws IOException {
        Path outside = Files.writeString(dir.resolve("outside"), "mine");
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> apply(new TarFile().file("../.wh.outside", "")));
        apply(new TarFile().link("up", "..").file("up/.wh.outside", ""));
        for (String name : new String[] {".wh...", ".wh..", ".wh."}) {
            assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> apply(new TarFile().file(name, "")));
        }

        assertThat(outside).exists();
        assertThat(target).exists();
    }

    @Test
    void aDirectoryTakesThePlaceOfAFileAndTheOtherWayRound() throws IOException {
        apply(new TarFile().file("a", "file").file("b/in", "it"));
        apply(new TarFile().directory("a", 0755).file("a/in", "it").file("b", "file"));

        assertThat(target.resolve("a/in")).hasContent("it");
        assertThat(target.resolve("b")).hasContent("file");
    }
}
