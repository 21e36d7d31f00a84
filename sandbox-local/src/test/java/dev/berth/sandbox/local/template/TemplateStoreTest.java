package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TemplateStoreTest {
    private static final Instant NOW = Instant.parse("2026-03-04T05:06:07Z");

    @TempDir
    Path dir;

    private TemplateStore store;

    @BeforeEach
    void makeStore() {
        store = new TemplateStore(dir.resolve("templates"), Path.of("/"), Clock.fixed(NOW, ZoneOffset.UTC));
    }

    /** JUnit would warn about every link in a root that leads out of the directory. */
    @AfterEach
    void removeTemplates() throws IOException {
        FileTree.deleteChildren(dir);
    }

    @Test
    void findsTheNewestVersionUnlessOneIsNamed() throws IOException {
        IntStream.rangeClosed(1, 11).forEach(n -> publish("tools"));

        assertThat(store.find("tools").orElseThrow().id()).isEqualTo("tools:11");
        assertThat(store.find("tools:2").orElseThrow().version()).isEqualTo(2);
        assertThat(store.find("tools:12")).isEmpty();
        assertThat(store.find("other")).isEmpty();
    }

    @Test
    void remembersAllOfATemplate() {
        Template published = publish("tools");

        Template found = new TemplateStore(store.directory()).find("tools").orElseThrow();

        assertThat(found).isEqualTo(published);
        assertThat(found.root())
                .isEqualTo(store.directory().resolve("tools/1/root"))
                .isDirectory();
        assertThat(found.env()).isEqualTo(Map.of("A", "b c"));
        assertThat(found.start()).contains(List.of("/bin/bash", "-c", "serve"));
        assertThat(found.createdAt()).isEqualTo(NOW);
        assertThat(found.size()).isEqualTo("content".length());
    }

    @Test
    void listsByNameWithTheNewestFirstAndHostAmongThem() {
        publish("tools");
        publish("tools");
        publish("base");

        assertThat(store.list()).extracting(Template::id).containsExactly("base:1", "host:1", "tools:2", "tools:1");
    }

    @Test
    void ignoresWhatKilledBuildsLeftBehind() throws IOException {
        publish("tools");
        Files.createDirectories(store.directory().resolve(".build/now/template/root"));
        Files.createDirectories(store.directory().resolve(".staging/host/root/etc"));
        Files.createDirectories(store.directory().resolve("tools/2/root"));
        Files.createDirectories(store.directory().resolve("tools/draft"));

        assertThat(store.find("tools").orElseThrow().version()).isEqualTo(1);
        assertThat(store.find("host")).isPresent();
        assertThat(store.directory().resolve(".staging")).isEmptyDirectory();
    }

    @Test
    void removesOneVersionOrAll() {
        IntStream.rangeClosed(1, 3).forEach(n -> publish("tools"));

        assertThat(store.remove("tools:2", t -> false)).extracting(Template::id).containsExactly("tools:2");
        assertThat(store.find("tools:2")).isEmpty();
        assertThat(store.find("tools:3")).isPresent();

        assertThat(store.remove("tools", t -> false)).hasSize(2);
        assertThat(store.find("tools")).isEmpty();
        assertThat(store.directory().resolve(".trash")).isEmptyDirectory();
    }

    @Test
    void refusesToRemoveWhatIsInUseAndThenRemovesNothing() {
        publish("tools");
        publish("tools");

        assertThatThrownBy(() -> store.remove("tools", t -> t.version() == 1))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT))
                .hasMessageContaining("tools:1");
        assertThat(store.find("tools:2")).isPresent();
    }

    @Test
    void refusesToRemoveTheLowerLayerOfAMountedRoot() throws Exception {
        Template template = publish("tools");
        Path merged = Files.createDirectory(dir.resolve("merged"));
        Path other = Files.createDirectory(dir.resolve("other"));
        command(
                "mount",
                "-t",
                "overlay",
                "-o",
                "lowerdir=" + template.root() + ":" + other,
                "berth-test",
                merged.toString());
        try {
            assertThatThrownBy(() -> store.remove("tools:1", t -> false))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
        } finally {
            command("umount", merged.toString());
        }
        assertThat(store.remove("tools:1", t -> false)).hasSize(1);
    }

    @Test
    void refusesToRemoveWhileABuildMayBeUsingIt() {
        publish("tools");
        try (ProcessLock _ = ProcessLock.acquire(store.buildLock())) {
            assertThatThrownBy(() -> store.remove("tools", t -> false))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT))
                    .hasMessageContaining("being built");
        }
    }

    @Test
    void seesWhatAnotherProcessRemovedAndBuiltAgainUnderTheSameVersion() {
        publish("tools");
        assertThat(store.find("tools")).isPresent();
        TemplateStore other = new TemplateStore(store.directory());
        other.remove("tools", t -> false);
        assertThat(store.find("tools")).isEmpty();

        publish(other, "tools", "second");

        assertThat(store.find("tools").orElseThrow().recipe()).isEqualTo("second");
    }

    @Test
    void givesEveryVersionOnceWhenManyPublishAtATime() throws Exception {
        try (var executor = Executors.newFixedThreadPool(8)) {
            List<Future<Template>> all = IntStream.range(0, 16)
                    .mapToObj(n -> executor.submit(() -> publish("tools")))
                    .toList();
            for (Future<Template> one : all) {
                one.get();
            }
        }
        assertThat(store.find("tools").orElseThrow().version()).isEqualTo(16);
    }

    @Test
    void takesBaseWhenItIsBuiltElseHost() {
        assertThat(store.defaultTemplate().name()).isEqualTo("host");
        publish("base");
        assertThat(store.defaultTemplate().id()).isEqualTo("base:1");
    }

    @Test
    void saysWhatToDoAboutATemplateThatIsNotThere() {
        assertThatThrownBy(() -> store.get("base"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND))
                .hasMessageContaining("berth template build base");
        assertThatThrownBy(() -> store.get("nonsense")).hasMessageContaining("berth template ls");
        assertThatThrownBy(() -> store.remove("nonsense", t -> false))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }

    @Test
    void saysWhenATemplateIsDamaged() throws IOException {
        publish("tools");
        Files.writeString(store.directory().resolve("tools/1/template.json"), "{");

        assertThatThrownBy(() -> new TemplateStore(store.directory()).find("tools"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAVAILABLE))
                .hasMessageContaining("damaged");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "..", "../x", "a/b", ".build", "A", "a:0", "a:x", "a:1:2", "-a", "a b", "a\n", "a\0"})
    void refusesNamesThatAreNone(String name) {
        assertThatThrownBy(() -> store.find(name))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }

    @Test
    void keepsOtherUsersOfTheMachineOut() {
        publish("tools");
        assertThat(store.directory())
                .satisfies(d -> assertThat(Files.getPosixFilePermissions(d)).hasSize(3));
    }

    private Template publish(String name) {
        return publish(store, name, "first");
    }

    private Template publish(TemplateStore into, String name, String recipe) {
        try {
            Path finished = Files.createTempDirectory(dir, "finished");
            Files.createDirectory(finished.resolve("root"));
            Files.writeString(finished.resolve("root/file"), "content");
            return into.publish(
                    finished,
                    new Template(
                            name,
                            0,
                            finished,
                            List.of(),
                            Map.of("A", "b c"),
                            "/home/user",
                            "user",
                            true,
                            Optional.of(List.of("/bin/bash", "-c", "serve")),
                            Optional.of("served"),
                            NOW,
                            0,
                            recipe));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void command(String... argv) throws IOException {
        ExternalCommand.of(List.of(argv)).run(line -> {}).orThrow();
    }
}
