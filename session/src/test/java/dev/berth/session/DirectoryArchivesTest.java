package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectoryArchivesTest extends ArchivesContract {
    @TempDir
    Path parent;

    private Path directory;
    private DirectoryArchives archives;

    @BeforeEach
    void open() {
        directory = parent.resolve("deep/archives");
        archives = DirectoryArchives.open(directory);
    }

    @Override
    protected Archives archives() {
        return archives;
    }

    @Test
    void keepsEverythingFromOthers() throws IOException {
        archives.put("a", file("private"));
        assertThat(modes(directory)).isEqualTo("rwx------");
        assertThat(modes(directory.resolve("a"))).isEqualTo("rw-------");
    }

    @Test
    void stillHasThemWhenOpenedAgain() {
        archives.put("a", file("kept"));
        archives.close();
        try (Archives again = DirectoryArchives.open(directory)) {
            assertThat(content(again, "a")).isEqualTo("kept");
        }
    }

    @Test
    void leavesNothingBesideTheArchives() throws IOException {
        archives.put("a", file("one"));
        archives.put("a", file("two"));
        assertFails(ErrorCode.UNAVAILABLE, () -> archives.put("b", work)); // a directory
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).containsExactly(directory.resolve("a"));
        }
    }

    @Test
    void removesWhatACrashLeftAnHourAgo() throws IOException {
        Instant now = Instant.parse("2026-03-01T12:00:00Z");
        Path abandoned = fileOf(".a.1.partial", now.minus(Duration.ofMinutes(61)));
        Path anothersWork = fileOf(".b.2.partial", now.minus(Duration.ofMinutes(59)));
        Path archive = fileOf("c.partial", now.minus(Duration.ofDays(100)));

        DirectoryArchives.open(directory, InstantSource.fixed(now)).close();

        assertThat(abandoned).doesNotExist();
        assertThat(anothersWork).exists();
        assertThat(archive).exists();
        assertThat(archives.names()).containsExactly("c.partial");
    }

    @Test
    void passesOverWhatIsNoArchive() throws IOException {
        Files.createDirectory(directory.resolve("a-directory"));
        Files.writeString(directory.resolve("README"), "not an archive");
        Files.createSymbolicLink(directory.resolve("a-link"), Files.writeString(parent.resolve("b"), "b"));

        assertThat(archives.names()).isEmpty();
        assertFails(ErrorCode.NOT_FOUND, () -> archives.get("a-link", work.resolve("back")));
        assertFails(ErrorCode.NOT_FOUND, () -> archives.get("a-directory", work.resolve("back")));
    }

    @Test
    void saysWhatToCheckWhenItsDirectoryIsNone() {
        Path notADirectory = file("a file");
        assertFails(ErrorCode.UNAVAILABLE, () -> DirectoryArchives.open(notADirectory))
                .hasMessageContaining(notADirectory.toString())
                .hasMessageContaining("check that it is a directory");
    }

    @Test
    void isUnavailableAndNotEmptyWhenItsDirectoryIsGone() throws IOException {
        Files.delete(directory);
        assertFails(ErrorCode.UNAVAILABLE, archives::names);
        assertFails(ErrorCode.UNAVAILABLE, () -> archives.get("a", work.resolve("back")));
        assertFails(ErrorCode.UNAVAILABLE, () -> archives.put("a", file("a")));
    }

    private Path fileOf(String name, Instant modified) throws IOException {
        Path file = Files.writeString(directory.resolve(name), "x");
        return Files.setLastModifiedTime(file, FileTime.from(modified));
    }

    private static String modes(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }
}
