package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TemplateSpec;
import dev.berth.sandbox.TemplateSpec.Copy;
import dev.berth.sandbox.TemplateSpec.Env;
import dev.berth.sandbox.TemplateSpec.FromTemplate;
import dev.berth.sandbox.TemplateSpec.Run;
import dev.berth.sandbox.TemplateSpec.Step;
import dev.berth.sandbox.TemplateSpec.User;
import dev.berth.sandbox.TemplateSpec.Workdir;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Templates that are asked for step by step, on top of the host's own, which needs no build. Needs root and crun. */
final class SpecTemplateTest {
    @TempDir
    private Path dir;

    private TemplateBuilder builder;
    private final List<BuildEvent> events = Collections.synchronizedList(new ArrayList<>());

    @BeforeEach
    void open() {
        builder = new TemplateBuilder(new TemplateStore(dir.resolve("templates")));
    }

    private Template build(Step... steps) {
        return builder.build(TemplateSpec.of("made", new FromTemplate("host"), steps), events::add);
    }

    private Path archive(TarFile tar) throws IOException {
        return Files.write(Files.createTempFile(dir, "upload", ".tar.gz"), tar.gzip());
    }

    private static Copy copy(Path archive, String source, String target) {
        return new Copy(archive, source, target, Optional.empty(), OptionalInt.empty());
    }

    @Test
    void stepsRunAsTheTemplatesUserInItsDirectoryUnlessTheySayOtherwise() throws IOException {
        Template made = build(
                Run.of("id -un > who; pwd >> who"),
                new Run("id -un > /by-root", Optional.of("root")),
                new Env(Map.of("GREETING", "hello world")),
                new Env(Map.of("BOTH", "$GREETING and ${GREETING}, $NOTHING.")),
                new Workdir("work"),
                Run.of("pwd > where; echo \"$BOTH\" >> where"));

        assertThat(made.root().resolve("home/user/who")).hasContent("user\n/home/user");
        assertThat(made.root().resolve("by-root")).hasContent("root");
        assertThat(made.root().resolve("home/user/work/where"))
                .hasContent("/home/user/work\nhello world and hello world, .");
        assertThat(made.workdir()).isEqualTo("/home/user/work");
        assertThat(made.user()).isEqualTo("user");
        assertThat(made.env()).containsEntry("GREETING", "hello world");
    }

    @Test
    void aUserThatIsNotThereIsMade() throws IOException {
        Template made = build(new User("worker"), Run.of("id -un > /tmp/who; pwd"), new User("user"));

        assertThat(made.root().resolve("tmp/who")).hasContent("worker");
        assertThat(made.user()).isEqualTo("user");
    }

    @Test
    void copiesFilesDirectoriesAndWhatWildcardsFound() throws IOException {
        Path upload = archive(new TarFile()
                .directory("app", 0755)
                .file("app/run.sh", 0755, 501, "#!/bin/sh")
                .file("app/deep/file", 0600, 501, "deep")
                .link("app/link", "run.sh")
                .file("one.txt", "1")
                .file("two.txt", "2"));

        Template made = build(
                copy(upload, "app", "/home/user/app"),
                copy(upload, "one.txt", "renamed.txt"),
                copy(upload, "./one.txt", "/opt/dir/"),
                copy(upload, "app/*", "/opt/wild"),
                new Copy(upload, "two.txt", "/opt/two", Optional.of("root"), OptionalInt.of(0400)));

        Path root = made.root();
        assertThat(root.resolve("home/user/app/deep/file")).hasContent("deep");
        assertThat(Files.readSymbolicLink(root.resolve("home/user/app/link"))).isEqualTo(Path.of("run.sh"));
        assertThat(root.resolve("home/user/renamed.txt")).hasContent("1");
        assertThat(root.resolve("opt/dir/one.txt")).hasContent("1");
        assertThat(root.resolve("opt/wild/run.sh")).exists();
        assertThat(TestingTemplates.run(
                        made, "root", "stat -c '%U %a %n' /home/user/app/run.sh /home/user/app/deep/file /opt/two"))
                .isEqualTo("user 755 /home/user/app/run.sh\nuser 600 /home/user/app/deep/file\nroot 400 /opt/two");
    }

    @Test
    void anArchiveReachesNothingButTheTemplate() throws IOException {
        Path outside = Files.writeString(dir.resolve("outside"), "mine");
        Path climbing = archive(new TarFile().file("../../../../../../" + outside, "theirs"));
        Path linked = archive(new TarFile().link("way", dir.toString()).link("name", outside.toString()));

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(copy(climbing, ".", "/opt")))
                .satisfies(e -> assertThat(e.details()).containsEntry(BuildEvent.STEP, "1"));
        // inside, a link leads to where it does in the template, which has no such file
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(copy(linked, "way/outside", "/opt/stolen")))
                .withMessageContaining("there is no 'way/outside'");
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(copy(linked, "../outside", "/opt/stolen")))
                .withMessageContaining("leads out");
        Template made = build(copy(linked, "name", "/opt/name"), Run.of("cat /opt/name || echo nothing there"));
        assertThat(Files.isSymbolicLink(made.root().resolve("opt/name"))).isTrue();
        assertThat(events).contains(new BuildEvent.StepOutput(3, 4, "nothing there"));
        assertThat(outside).hasContent("mine");
    }

    @Test
    void aStepThatFailsIsNamedByItsNumber() {
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(
                        () -> build(new Env(Map.of("A", "b")), Run.of("true"), Run.of("echo so it goes >&2; exit 3")))
                .withMessageContaining("step 3")
                .withMessageContaining("so it goes")
                .satisfies(e -> assertThat(e.details()).containsEntry(BuildEvent.STEP, "3"));
    }

    @Test
    void aStepThatDigsDeepHindersNoBuildAfterIt() {
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(Run.of("""
                        python3 -c "import os
                        for _ in range(3000):
                            os.mkdir('dd')
                            os.chdir('dd')"
                        exit 1""")))
                .withMessageContaining("status 1");

        assertThat(build(Run.of("true")).version()).isEqualTo(1);
    }

    @Test
    void aStepMayAskNoMoreOfTheKernelThanASandbox() throws IOException {
        Template made = build(new Run("""
                tried() { "$@" >/dev/null 2>&1 && echo "$1 allowed" || echo "$1 refused"; }
                {
                  tried unshare -U true
                  tried unshare --mount true
                  tried mount -t tmpfs none /mnt
                  tried mknod /dev/made c 1 3
                  tried setarch --addr-no-randomize true
                  tried setarch linux32 true
                  tried python3 -c 'import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)'
                  tried bash -c '(sleep 0 & wait) | cat'
                  tried python3 -c 'import socket, threading; socket.socketpair(); threading.Thread(target=print).start()'
                  grep CapBnd /proc/self/status
                } | sed 's/ -.*//' > /tried
                """, Optional.of("root")));

        assertThat(made.root().resolve("tried")).hasContent("""
                unshare refused
                unshare refused
                mount refused
                mknod refused
                setarch refused
                setarch allowed
                python3 refused
                bash allowed
                python3 allowed
                CapBnd:\t%s""".formatted(bounding()));
    }

    /** What is left of an ordinary container's without CAP_MKNOD and CAP_NET_RAW. */
    private static String bounding() {
        long all = 0;
        for (int capability : new int[] {0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31}) {
            all |= 1L << capability;
        }
        return "%016x".formatted(all);
    }

    private TemplateBuilder bounded(BuildBounds bounds) {
        return new TemplateBuilder(
                new TemplateStore(dir.resolve("templates")),
                Map.of(),
                Clock.systemUTC(),
                BuildConfig.DEFAULT,
                Optional.empty(),
                bounds);
    }

    @Test
    void aBuildThatTakesTooLongIsEndedAndTheNextOneIsNot() {
        builder = bounded(new BuildBounds(Duration.ofSeconds(2), 0, 0));

        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(Run.of("sleep 1000")))
                .withMessageContaining("the build took more than")
                .satisfies(e -> assertThat(e.details()).containsEntry(BuildEvent.STEP, "1"))
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.TIMEOUT);
        assertThat(dir.resolve("templates/.build")).isEmptyDirectory();
        builder = bounded(BuildBounds.DEFAULT);
        assertThat(build(Run.of("true")).version()).isEqualTo(1);
    }

    @Test
    void aBuildLeavesTheDiskSomeRoomOrIsEnded() throws IOException {
        long free = BuildBounds.free(dir);
        builder = bounded(new BuildBounds(Duration.ofMinutes(5), free * 2, free * 2));
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(Run.of("true")))
                .withMessageContaining("could not begin the build")
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.LIMIT);
        assertThat(lines()).isEmpty();

        long floor = BuildBounds.free(dir) - (4L << 30);
        builder = bounded(new BuildBounds(Duration.ofMinutes(5), floor, floor));
        assertThatExceptionOfType(SandboxException.class)
                .isThrownBy(() -> build(Run.of("fallocate -l 7G large; sleep 1000")))
                .withMessageContaining("the build was ended: the disk of the templates")
                .satisfies(e -> assertThat(e.details()).containsEntry(BuildEvent.STEP, "1"))
                .extracting(SandboxException::code)
                .isEqualTo(ErrorCode.LIMIT);
        assertThat(dir.resolve("templates/.build")).isEmptyDirectory();
    }

    @Test
    void noFileOfAStepIsLargerThanEightGigabytes() throws IOException {
        Template made = build(Run.of("ulimit -f > limit; truncate -s 9G large || echo refused >> limit"));

        assertThat(made.root().resolve("home/user/limit")).hasContent("8388608\nrefused");
    }

    @Test
    void whatLooksAlikeIsNotTakenForTheSame() throws IOException {
        Path upload = archive(new TarFile().file("a", "1").file("a b", "2"));
        Run show = Run.of("printf '%s' \"$B\" > env");

        Template one = build(copy(upload, "a", "b c"));
        Template other = build(copy(upload, "a b", "c"));
        Template single = build(new Env(Map.of("A", "1, B=2")), show);
        Template both = build(new Env(Map.of("A", "1")), new Env(Map.of("B", "2")), show);

        assertThat(one.root().resolve("home/user/b c")).hasContent("1");
        assertThat(other.root().resolve("home/user/c")).hasContent("2");
        assertThat(single.root().resolve("home/user/env")).isEmptyFile();
        assertThat(both.root().resolve("home/user/env")).hasContent("2");
    }

    @Test
    void doesAnewFromAStepOnAndForAnotherScope() {
        TemplateSpec spec =
                TemplateSpec.of("made", new FromTemplate("host"), Run.of("echo first"), Run.of("echo second"));
        Template first = builder.build(spec, events::add);
        events.clear();
        assertThat(builder.build(spec, events::add)).isEqualTo(first);
        assertThat(lines()).isEmpty();

        Template second = builder.build(spec.withAnewFrom(2), events::add);
        assertThat(second.version()).isEqualTo(2);
        assertThat(lines()).containsExactly("second");

        events.clear();
        TemplateSpec others = new TemplateSpec(
                "others", spec.from(), spec.steps(), Optional.empty(), Optional.empty(), OptionalInt.empty(), "other");
        builder.build(others, events::add);
        assertThat(lines()).containsExactly("first", "second");
    }

    @Test
    void startAndReadyAreTriedOnceInANetworkOfTheirOwn() throws IOException {
        Template made = builder.build(
                TemplateSpec.of("made", new FromTemplate("host"))
                        .withStart("sleep 1; touch /tmp/up; sleep 1000", "[ -f /tmp/up ]"),
                events::add);

        assertThat(made.start())
                .hasValueSatisfying(argv -> assertThat(argv).last().asString().startsWith("sleep 1;"));
        assertThat(made.ready()).contains("[ -f /tmp/up ]");
        // what it left there is not the template's
        assertThat(made.root().resolve("tmp/up")).doesNotExist();
        assertThat(made.root().resolve("var/log/berth-start.log")).isEmptyFile();
        assertThat(TemplateJson.read(Objects.requireNonNull(made.root().getParent()), "made", 1))
                .isEqualTo(made);

        builder.build(
                TemplateSpec.of("alone", new FromTemplate("host"))
                        .withStart(
                                "true", "ls /sys/class/net /proc/net/dev > /dev/null; grep -c : /proc/net/dev; true"),
                events::add);
        assertThat(lines()).contains("1");
    }

    @Test
    void aTemplateFileOfBeforeReadyIsReadStill() throws IOException {
        Template made = build(Run.of("true"));
        Path json = made.root().resolveSibling("template.json");
        String before = Files.readString(json);
        Files.writeString(json, before.replaceAll("\"ready\" : null,\\s*", ""));

        assertThat(Files.readString(json)).isNotEqualTo(before);
        assertThat(TemplateJson.read(Objects.requireNonNull(json.getParent()), "made", 1))
                .isEqualTo(made);
    }

    private List<String> lines() {
        return List.copyOf(events).stream()
                .filter(BuildEvent.StepOutput.class::isInstance)
                .map(event -> ((BuildEvent.StepOutput) event).line())
                .toList();
    }
}
