package dev.berth.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What archives promise, written once. Every kind of them extends this and passes all of it. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class ArchivesContract {
    /** For the files of a test, outside of the archives. */
    @TempDir
    protected Path work;

    /** The archives under test: empty at the beginning of each test, and the same for the whole of it. */
    protected abstract Archives archives();

    @Test
    void keepsTheBytesOfAFile() throws IOException {
        byte[] bytes = new byte[3_000_001];
        new Random(1).nextBytes(bytes);
        Path file = Files.write(work.resolve("packed"), bytes);

        archives().put("session-1.tar.zst", file);
        archives().get("session-1.tar.zst", work.resolve("back"));

        assertThat(work.resolve("back")).hasBinaryContent(bytes);
        assertThat(file).as("the caller's file").hasBinaryContent(bytes);
    }

    @Test
    void keepsAnEmptyFile() {
        archives().put("empty", file(""));
        assertThat(content("empty")).isEmpty();
    }

    @Test
    void keepsWhatWasThereWhenTheCallersFileChangesLater() throws IOException {
        Path file = file("then");
        archives().put("a", file);
        Files.writeString(file, "later");
        assertThat(content("a")).isEqualTo("then");
    }

    @Test
    void givesFilesThatOnlyTheirOwnerCanRead() throws IOException {
        archives().put("a", file("private"));
        archives().get("a", work.resolve("back"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(work.resolve("back"))))
                .isEqualTo("rw-------");
    }

    @Test
    void replacesWhatWasThere() {
        archives().put("a", file("a long first version"));
        archives().put("a", file("second"));
        assertThat(content("a")).isEqualTo("second");
        assertThat(archives().names()).containsExactly("a");
    }

    @Test
    void removesAnArchiveAndDoesNotMindWhenItIsGone() {
        archives().put("a", file("a"));
        archives().put("b", file("b"));

        archives().delete("a");
        archives().delete("a");
        archives().delete("never-there");

        assertThat(archives().names()).containsExactly("b");
        assertFails(ErrorCode.NOT_FOUND, () -> archives().get("a", work.resolve("back")));
    }

    @Test
    void takesAnArchiveAgainAfterItsRemoval() {
        archives().put("a", file("one"));
        archives().delete("a");
        archives().put("a", file("two"));
        assertThat(content("a")).isEqualTo("two");
    }

    @Test
    void namesWhatItKeeps() {
        assertThat(archives().names()).isEmpty();
        for (String name : List.of("b", "a.tar.zst", "0-1", "a.partial")) {
            archives().put(name, file(name));
        }
        assertThat(archives().names()).containsExactlyInAnyOrder("b", "a.tar.zst", "0-1", "a.partial");
    }

    @Test
    void failsWithNotFoundAndMakesNoFileWhenThereIsNothing() {
        assertFails(ErrorCode.NOT_FOUND, () -> archives().get("missing", work.resolve("back")))
                .hasMessageContaining("missing");
        assertThat(work.resolve("back")).doesNotExist();
    }

    @Test
    void doesNotWriteOverAFileThatIsThere() throws IOException {
        archives().put("a", file("new"));
        Path target = Files.writeString(work.resolve("back"), "precious");

        assertFails(ErrorCode.CONFLICT, () -> archives().get("a", target));

        assertThat(target).hasContent("precious");
    }

    @Test
    void keepsWhatWasThereWhenTheFileToArchiveIsMissing() {
        archives().put("a", file("first"));
        assertFails(ErrorCode.UNAVAILABLE, () -> archives().put("a", work.resolve("no-such-file")));
        assertThat(content("a")).isEqualTo("first");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", ".", "..", ".a", "-a", "A", "a/b", "../a", "a_b", "a b", "a\n", "a\u0000", "ä", "%2e", "a?b"
            })
    void refusesWhatIsNotAName(String name) {
        Path file = file("a");
        assertFails(ErrorCode.INVALID, () -> archives().put(name, file));
        assertFails(ErrorCode.INVALID, () -> archives().get(name, work.resolve("back")));
        assertFails(ErrorCode.INVALID, () -> archives().delete(name));
        assertThat(work.resolve("back")).doesNotExist();
    }

    @Test
    void takesNamesOfTwoHundredCharacters() {
        String longest = "a".repeat(200);
        archives().put(longest, file("long"));
        assertThat(content(longest)).isEqualTo("long");
        assertThat(archives().names()).containsExactly(longest);
        assertFails(ErrorCode.INVALID, () -> archives().put(longest + "a", file("longer")));
    }

    @Test
    void keepsOneOfTheWritersWhole() throws Exception {
        List<String> versions = List.of("1".repeat(200_000), "2".repeat(200_000), "3".repeat(200_000));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Void>> writers = new ArrayList<>();
            for (String version : versions) {
                Path file = file(version);
                writers.add(() -> {
                    archives().put("a", file);
                    return null;
                });
            }
            for (Future<Void> writer : threads.invokeAll(writers)) {
                writer.get();
            }
        }
        assertThat(versions).contains(content("a"));
    }

    protected final Path file(String content) {
        try {
            return Files.writeString(Files.createTempFile(work, "file", ""), content);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    protected final String content(String name) {
        return content(archives(), name);
    }

    protected final String content(Archives archives, String name) {
        try {
            Path target = Files.createTempDirectory(work, "back").resolve("content");
            archives.get(name, target);
            return Files.readString(target, UTF_8);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    protected static AbstractThrowableAssert<?, ? extends Throwable> assertFails(
            ErrorCode code, ThrowingCallable action) {
        return assertThatThrownBy(action)
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(code));
    }
}
