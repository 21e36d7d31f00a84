package dev.berth.session.postgres;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProgramsTest {
    @TempDir
    Path temporary;

    @Test
    void unpacksOnceHoweverManyDoItAtOnce() throws Exception {
        Path binaries = temporary.resolve("binaries");
        ProgramArchive archive = ProgramArchive.find(System.getProperty("os.arch"));
        Callable<Programs> unpack = () -> Programs.unpack(archive, binaries);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Programs> unpacked = new ArrayList<>();
            for (Future<Programs> each : threads.invokeAll(List.of(unpack, unpack))) {
                unpacked.add(each.get());
            }
            assertThat(unpacked.stream().distinct()).hasSize(1);
            assertThat(names(binaries))
                    .containsExactly(
                            unpacked.getFirst().directory().getFileName().toString());
        }

        Programs programs = Programs.unpack(archive, binaries);
        assertThat(programs.postgres()).isExecutable();
        assertThat(programs.directory().resolve("lib/libpq.so.5")).isSymbolicLink();
        assertThat(programs.major()).isEqualTo("18");
    }

    @Test
    void saysWhatToDoWhenThereAreNoneForTheMachine() {
        assertThatThrownBy(() -> ProgramArchive.find("s390x"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED))
                .hasMessageContaining("s390x")
                .hasMessageContaining("set DATABASE_URL");
    }

    @ParameterizedTest
    @ValueSource(strings = {"../evil", "a/../../evil", "/evil", "a/../../target-evil", ".."})
    void refusesAFileThatWouldLieOutside(String name) throws Exception {
        assertRefused(tar(file(name)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/etc", "..", "../evil", "b/../../.."})
    void refusesALinkThatLeadsOutside(String link) throws Exception {
        assertRefused(tar(link("link", link, TarConstants.LF_SYMLINK)));
    }

    @Test
    void refusesAFileBehindALink() throws Exception {
        assertRefused(tar(directory("a/"), link("b", "a", TarConstants.LF_SYMLINK), file("b/evil")));
    }

    @Test
    void refusesWhatIsNeitherFileNorDirectoryNorLink() throws Exception {
        assertRefused(tar(link("hard", "/etc/passwd", TarConstants.LF_LINK)));
        assertRefused(tar(new TarArchiveEntry("device", TarConstants.LF_CHR)));
        assertRefused(tar(new TarArchiveEntry("pipe", TarConstants.LF_FIFO)));
    }

    private void assertRefused(byte[] tar) throws IOException {
        Path target = Files.createDirectories(temporary.resolve("target"));
        assertThatThrownBy(() -> ProgramArchive.extract(new ByteArrayInputStream(tar), target))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("refused to unpack");
        assertThat(names(temporary)).containsExactly("target");
        assertThat(Path.of("/evil")).doesNotExist();
        try (var paths = Files.walk(target)) {
            assertThat(paths.map(path -> path.getFileName().toString())).doesNotContain("evil");
        }
    }

    private static TarArchiveEntry file(String name) {
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(4);
        return entry;
    }

    private static TarArchiveEntry directory(String name) {
        return new TarArchiveEntry(name);
    }

    private static TarArchiveEntry link(String name, String target, byte type) {
        TarArchiveEntry entry = new TarArchiveEntry(name, type);
        entry.setLinkName(target);
        return entry;
    }

    private static byte[] tar(TarArchiveEntry... entries) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream out = new TarArchiveOutputStream(bytes)) {
            for (TarArchiveEntry entry : entries) {
                out.putArchiveEntry(entry);
                if (entry.getSize() > 0) {
                    out.write("evil".getBytes(UTF_8));
                }
                out.closeArchiveEntry();
            }
        }
        return bytes.toByteArray();
    }

    private static List<String> names(Path directory) throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).toList();
        }
    }
}
