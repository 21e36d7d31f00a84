package dev.berth.session.artifact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingSessions;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Files of real sandboxes that become artifacts. Needs root and crun. */
@Timeout(300)
final class ArtifactsTest {
    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-01-01T00:00:00Z"));
    private TestingSessions berth;
    private Path directory;
    private Artifacts artifacts;

    @BeforeEach
    void start() {
        berth = new TestingSessions();
        directory = berth.machine().data().resolve("artifacts");
        artifacts = open();
    }

    @AfterEach
    void stop() {
        berth.close();
    }

    private Artifacts open() {
        return Artifacts.open(
                ArtifactsConfig.in(directory),
                berth.database(),
                berth.sessions().events(),
                (path, _) -> path.endsWith(".csv") ? "text/csv" : "application/octet-stream",
                now::get,
                new SecureRandom());
    }

    private Collected run(String session, String script) {
        try (Session up = berth.resolve(session)) {
            var result = up.sandbox().run(Command.shell("mkdir -p ~/workspace && cd ~/workspace && " + script));
            assertThat(result.code()).as(result.stderr()).isZero();
            return artifacts.collect(up, "tester", Optional.of("call-1"));
        }
    }

    private static List<String> paths(Collected collected) {
        return collected.made().stream().map(Artifact::path).toList();
    }

    private String content(Artifact artifact) throws IOException {
        try (InputStream in = artifacts.content(artifact, 0)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private long stored() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile).count();
        }
    }

    @Test
    void whatARunLeavesIsFoundOnceInTheOrderOfTheFolders() throws IOException {
        assertThat(run("s", "true")).isEqualTo(Collected.NOTHING);
        Collected first = run(
                "s",
                "mkdir -p output/display output/sub && echo 1,2 >output/b.csv"
                        + " && echo x >output/sub/c && echo y >output/display/z && echo hidden >output/.h");
        assertThat(paths(first)).containsExactly("output/display/z", "output/b.csv", "output/sub/c");
        assertThat(first.note()).isEmpty();
        Artifact table = first.made().get(1);
        assertThat(table.id()).matches("art_[0-9a-f]{32}");
        assertThat(table.kind()).isEqualTo(Artifact.Kind.TABLE);
        assertThat(table.preview()).contains("1,2\n");
        assertThat(table.callId()).contains("call-1");
        assertThat(content(table)).isEqualTo("1,2\n");
        assertThat(artifacts.find(table.id())).contains(table);
        assertThat(run("s", "true")).isEqualTo(Collected.NOTHING);
    }

    @Test
    void everyArtifactIsAnEvent() {
        String id =
                run("s", "mkdir output && echo x >output/x").made().getFirst().id();
        List<LoggedEvent> made = berth.sessions().events().read(TestingSessions.key("s"), 0, 100).stream()
                .filter(event -> event.type().equals("artifact.made"))
                .toList();
        assertThat(made).hasSize(1);
        assertThat(made.getFirst().data()).containsEntry("artifact_id", id).containsEntry("call_id", "call-1");
        assertThat(made.getFirst().actor()).isEqualTo("tester");
    }

    @Test
    void aFileThatChangesIsANewVersionOfTheSamePath() throws IOException {
        Artifact one = run("s", "mkdir output && echo one >output/x").made().getFirst();
        Artifact two = run("s", "echo two >output/x").made().getFirst();
        assertThat(two.path()).isEqualTo(one.path());
        assertThat(content(one)).isEqualTo("one\n");
        assertThat(content(two)).isEqualTo("two\n");
        assertThat(artifacts.list(TestingSessions.key("s"), Optional.empty(), 10))
                .containsExactly(two, one);
        assertThat(artifacts.list(TestingSessions.key("s"), Optional.of(two.id()), 10))
                .containsExactly(one);
    }

    @Test
    void anotherServerKnowsWhatWasFoundAndRemoved() {
        Artifact one = run("s", "mkdir output && echo one >output/x && echo y >output/y")
                .made()
                .getFirst();
        assertThat(artifacts.remove(one, "tester")).isTrue();
        assertThat(artifacts.remove(one, "tester")).isFalse();
        berth.restart();
        artifacts = open();
        assertThat(run("s", "true")).isEqualTo(Collected.NOTHING);
        assertThat(paths(run("s", "echo more >>output/x"))).containsExactly("output/x");
    }

    @Test
    void contentOutlivesTheSessionAndGoesWithItsTime() throws IOException {
        SessionKey key = TestingSessions.key("s");
        Artifact one = run("s", "mkdir output && echo kept >output/x").made().getFirst();
        berth.sessions().delete(key);
        now.updateAndGet(at -> at.plus(Duration.ofDays(29)));
        artifacts.sweep();
        assertThat(content(artifacts.find(one.id()).orElseThrow())).isEqualTo("kept\n");
        assertThat(artifacts.counts(Optional.of(key.tenant()))).containsEntry(key, 1);
        now.updateAndGet(at -> at.plus(Duration.ofDays(2)));
        assertThat(artifacts.find(one.id())).isEmpty();
        artifacts.sweep();
        assertThat(artifacts.list(key, Optional.empty(), 10)).isEmpty();
        assertThat(stored()).isZero();
        assertThatThrownBy(() -> artifacts.content(one, 0)).isInstanceOf(SandboxException.class);
    }

    @Test
    void contentThatTwoHaveIsKeptOnceAndUntilBothAreGone() throws IOException {
        Artifact one = run("s", "mkdir output && echo same >output/x").made().getFirst();
        Artifact two = run("t", "mkdir output && echo same >output/y").made().getFirst();
        assertThat(stored()).isEqualTo(1);
        artifacts.remove(one, "tester");
        assertThat(content(two)).isEqualTo("same\n");
        artifacts.remove(two, "tester");
        assertThat(stored()).isZero();
    }

    @Test
    void whatACrashLeftIsRemovedWhenItIsOldAndNobodyRefersToIt() throws IOException {
        Artifact used = run("s", "mkdir output && echo used >output/x").made().getFirst();
        Path shard = directory.resolve("default").resolve("ab");
        Files.createDirectories(shard);
        Path old = Files.writeString(shard.resolve("ab" + "0".repeat(62)), "old");
        Path young = Files.writeString(shard.resolve("ab" + "1".repeat(62)), "young");
        Path partial = Files.writeString(directory.resolve("default").resolve(".x.partial"), "half");
        FileTime before = FileTime.from(now.get().minus(Duration.ofDays(2)));
        Files.setLastModifiedTime(old, before);
        Files.setLastModifiedTime(partial, before);
        Path kept = directory
                .resolve("default")
                .resolve(used.sha256().substring(0, 2))
                .resolve(used.sha256());
        Files.setLastModifiedTime(kept, before);
        artifacts.sweepContent();
        assertThat(old).doesNotExist();
        assertThat(partial).doesNotExist();
        assertThat(young).exists();
        assertThat(content(used)).isEqualTo("used\n");
    }

    @Test
    void linksAndWhatIsNoFileAreLeftAlone() {
        Collected found = run(
                "s",
                "mkdir -p output secret && echo s >secret/s && ln -s /etc/passwd output/passwd && ln -s ../secret output/dir"
                        + " && ln -s ../secret/s output/in && mkfifo output/pipe && echo real >output/real");
        assertThat(paths(found)).containsExactly("output/real");
    }

    @Test
    void aFolderThatIsALinkIsNotOne() {
        assertThat(run("s", "ln -s /etc output")).isEqualTo(Collected.NOTHING);
        assertThat(run("t", "mkdir other && echo x >other/x && ln -s other output"))
                .isEqualTo(Collected.NOTHING);
    }

    @Test
    void hugeSparseFilesAreToldAndNotTaken() throws IOException {
        Collected found = run("s", "mkdir output && truncate -s 10G output/huge && echo x >output/x");
        assertThat(paths(found)).containsExactly("output/x");
        assertThat(found.note().orElseThrow()).contains("huge").contains("larger than 1 GB");
        assertThat(stored()).isEqualTo(1);
        assertThat(run("s", "true")).isEqualTo(Collected.NOTHING);
    }

    @Test
    void oneCallBringsAHundredAndTheNextOnesTheRest() {
        Collected first = run("s", "mkdir output && for i in $(seq 150); do echo $i >output/$i; done");
        assertThat(first.made()).hasSize(100);
        assertThat(first.note().orElseThrow()).startsWith("50 more files");
        assertThat(run("s", "true").made()).hasSize(50);
        assertThat(run("s", "true")).isEqualTo(Collected.NOTHING);
    }

    @Test
    void moreFilesThanAreLookedAtAreTold() {
        Collected found = run("s", "mkdir output && cd output && seq -f %05g 1200 | xargs touch");
        assertThat(found.made()).hasSize(100);
        assertThat(found.note().orElseThrow()).contains("more than 1000 files");
    }

    @Test
    void namesThatMisleadAreShownWithoutWhatMisleads() {
        Collected found = run(
                "s",
                "mkdir output && printf x >\"output/$(printf 'a\\nb\\033[31m\\342\\200\\256fdp.csv')\""
                        + " && printf x >\"output/$(printf '\\377')\"");
        assertThat(found.made()).hasSize(1);
        assertThat(found.made().getFirst().name()).isEqualTo("ab[31mfdp.csv");
        assertThat(found.made().getFirst().path()).isEqualTo("output/a\nb\u001b[31m\u202efdp.csv");
        assertThat(found.note().orElseThrow()).contains("not UTF-8");
    }

    @Test
    void aFileThatIsBeingWrittenIsTakenWhenItIsAtRest() throws IOException {
        try (Session up = berth.resolve("s")) {
            // 64 MB that change all the time, so that it cannot be copied between two changes
            var writer = up.sandbox()
                    .start(Command.shell("mkdir -p ~/workspace/output && cd ~/workspace/output"
                            + " && truncate -s 64M x && echo ready && while :; do echo x >>x; done"));
            try (writer) {
                assertThat(writer.stdout().readNBytes(5)).isEqualTo("ready".getBytes(StandardCharsets.UTF_8));
                Collected found = artifacts.collect(up, "tester", Optional.empty());
                assertThat(found.made()).isEmpty();
                assertThat(found.note().orElseThrow()).contains("still being written");
                assertThat(stored()).isZero();
                writer.signal(dev.berth.sandbox.Signal.KILL);
                writer.await();
            }
            assertThat(artifacts.collect(up, "tester", Optional.empty()).made()).hasSize(1);
        }
    }
}
