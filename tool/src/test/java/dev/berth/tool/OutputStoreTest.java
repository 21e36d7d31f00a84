package dev.berth.tool;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.tool.OutputStore.Bounds;
import dev.berth.tool.OutputStore.Stream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutputStoreTest {
    private static final SessionKey SESSION = SessionKey.of("acme", "one");

    @TempDir
    private Path directory;

    private OutputStore store(long streamBytes, long totalBytes) {
        return OutputStore.open(
                directory,
                new Bounds(streamBytes, totalBytes, Duration.ofHours(24)),
                InstantSource.system(),
                new SecureRandom());
    }

    private static String keep(OutputStore store, String text) {
        try (OutputStore.Writing writing = store.begin(SESSION)) {
            byte[] bytes = text.getBytes(UTF_8);
            writing.write(Stream.STDOUT, bytes, 0, bytes.length);
            writing.write(Stream.STDERR, bytes, 0, 0);
            return writing.id();
        }
    }

    private static void assertGone(OutputStore store, SessionKey session, String id) {
        assertThatThrownBy(() -> store.read(session, id, Stream.STDOUT, 0, 10))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    private Path file(String id) throws IOException {
        try (var files = Files.walk(directory)) {
            return files.filter(path -> path.endsWith(id + ".stdout"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void readsAnOutputInPages() {
        OutputStore store = store(100, 1000);
        String id = keep(store, "0123456789");
        OutputStore.Page page = store.read(SESSION, id, Stream.STDOUT, 4, 3);
        assertThat(new String(page.bytes(), UTF_8)).isEqualTo("456");
        assertThat(page.total()).isEqualTo(10);
        assertThat(page.hasMore()).isTrue();
        assertThat(store.read(SESSION, id, Stream.STDOUT, 7, 100).hasMore()).isFalse();
        assertThat(store.read(SESSION, id, Stream.STDOUT, 70, 100).bytes()).isEmpty();
        assertThat(store.read(SESSION, id, Stream.STDERR, 0, 100).total()).isZero();
    }

    @Test
    void hasNothingOfAnotherSession() {
        OutputStore store = store(100, 1000);
        String id = keep(store, "secret");
        assertGone(store, SessionKey.of("acme", "two"), id);
        assertGone(store, SessionKey.of("other", "one"), id);
        assertGone(store, SESSION, "../" + id);
        assertGone(store, SESSION, "");
    }

    @Test
    void keepsItsFilesFromOthers() throws IOException {
        Path file = file(keep(store(100, 1000), "x"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                .isEqualTo("rwx------");
    }

    @Test
    void keepsNoMoreOfAStreamThanItsBound() {
        OutputStore store = store(10, 1000);
        try (OutputStore.Writing writing = store.begin(SESSION)) {
            for (int i = 0; i < 5; i++) {
                writing.write(Stream.STDOUT, "abcd".getBytes(UTF_8), 0, 4);
            }
            assertThat(writing.kept(Stream.STDOUT)).isEqualTo(10);
            assertThat(store.read(SESSION, writing.id(), Stream.STDOUT, 0, 100).total())
                    .isEqualTo(10);
        }
    }

    @Test
    void removesTheOldestWhenItIsFull() throws IOException {
        OutputStore store = store(100, 100);
        String first = keep(store, "x".repeat(45));
        Files.setLastModifiedTime(file(first), FileTime.from(Instant.now().minusSeconds(60)));
        String second = keep(store, "x".repeat(45));
        String third = keep(store, "x".repeat(45));
        assertGone(store, SESSION, first);
        assertThat(store.read(SESSION, second, Stream.STDOUT, 0, 100).total()).isEqualTo(45);
        assertThat(store.read(SESSION, third, Stream.STDOUT, 0, 100).total()).isEqualTo(45);
    }

    @Test
    void removesWhatIsTooOldAlsoOfAServerBefore() throws IOException {
        String id = keep(store(100, 1000), "x");
        String young = keep(store(100, 1000), "x");
        Files.setLastModifiedTime(file(id), FileTime.from(Instant.now().minus(Duration.ofHours(25))));
        OutputStore next = store(100, 1000);
        assertGone(next, SESSION, id);
        assertThat(next.read(SESSION, young, Stream.STDOUT, 0, 1).total()).isEqualTo(1);
    }

    @Test
    void removesAllOfASession() {
        OutputStore store = store(100, 1000);
        String id = keep(store, "x");
        store.remove(SESSION);
        assertGone(store, SESSION, id);
        assertThat(directory).isEmptyDirectory();
    }
}
