package dev.berth.sandbox.local.template;

import static dev.berth.sandbox.local.template.TestingTemplates.file;
import static dev.berth.sandbox.local.template.TestingTemplates.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.BuildEvent;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Builds small templates on top of host, with real containers. */
@Timeout(300)
class TemplateBuilderTest {
    @TempDir
    Path dir;

    private TemplateStore store;
    private TemplateBuilder builder;
    private final List<BuildEvent> events = Collections.synchronizedList(new ArrayList<>());

    @BeforeEach
    void makeBuilder() {
        store = new TemplateStore(dir.resolve("templates"));
        builder = new TemplateBuilder(store);
    }

    @AfterEach
    void leavesNothingBehind() throws IOException {
        assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(dir.toString());
        assertThat(store.directory().resolve(".build/now")).doesNotExist();
        FileTree.deleteChildren(dir);
    }

    @Test
    void runsEachStepOnWhatTheStepsBeforeLeft() throws IOException {
        Template built = build("""
                from host
                run echo one > /etc/steps
                run echo two >> /etc/steps
                run rm /etc/hostname && mkdir /opt/x && mv /etc/steps /opt/x/steps
                """);

        assertThat(built.root().resolve("opt/x/steps")).hasContent("one\ntwo");
        assertThat(built.root().resolve("etc/hostname")).doesNotExist();
        assertThat(built.readOnlyHostPaths()).containsExactly("/usr");
        assertThat(run(built, "cat /opt/x/steps")).isEqualTo("one\ntwo");
    }

    @Test
    void carriesVariablesUserWorkdirAndStart() throws IOException {
        Template built = build("""
                from host
                env GREETING=hello  world
                run echo "$GREETING $(id -un) $PWD $HOME" > /etc/before
                user user
                workdir /home/user/app
                run echo "$GREETING $(id -un) $PWD $HOME" > after
                start echo $GREETING
                """);

        assertThat(built.root().resolve("etc/before")).hasContent("hello  world root / /root");
        assertThat(built.root().resolve("home/user/app/after"))
                .hasContent("hello  world user /home/user/app /home/user");
        assertThat(owner(built.root().resolve("home/user/app"))).isEqualTo(1000);
        assertThat(built.env()).containsEntry("GREETING", "hello  world").containsEntry("LANG", "C.UTF-8");
        assertThat(built.user()).isEqualTo("user");
        assertThat(built.workdir()).isEqualTo("/home/user/app");
        assertThat(built.start()).contains(List.of("/bin/bash", "-c", "echo $GREETING"));
    }

    /** Building base takes a minute, so here the shipped one is only seen to be begun: the build is stopped there. */
    @Test
    void aShippedTemplateThatIsMissingIsBuiltFirst() {
        assertThatThrownBy(() -> builder.build(file("from base\nrun true"), "child", event -> {
                    events.add(event);
                    if (event instanceof BuildEvent.StepStarted) {
                        throw new IllegalStateException("seen enough");
                    }
                }))
                .hasMessageContaining("seen enough");

        assertThat(events.getFirst()).isEqualTo(new BuildEvent.Needed("base"));
        assertThat(events.getLast())
                .isInstanceOfSatisfying(
                        BuildEvent.StepStarted.class,
                        step -> assertThat(step.text()).contains("debian:bookworm"));
    }

    @Test
    void aVersionThatIsMissingIsNotBuilt() {
        assertThatThrownBy(() -> build("from base:7")).hasMessageContaining("line 1: there is no template 'base:7'");
    }

    @Test
    void inheritsFromItsParentTemplate() throws IOException {
        builder.build(file("from host\nenv A=1\nworkdir /opt/app\nuser root\nrun echo x > x"), "parent", events::add);

        Template child = builder.build(file("from parent:1\nenv B=2\nrun cat /opt/app/x > /y"), "child", events::add);

        assertThat(child.root().resolve("y")).hasContent("x");
        assertThat(child.env()).containsEntry("A", "1").containsEntry("B", "2");
        assertThat(child.workdir()).isEqualTo("/opt/app");
        assertThat(child.user()).isEqualTo("root");
    }

    @Test
    void copiesFilesAndDirectoriesForTheUserOfTheStep() throws IOException {
        Path context = dir.resolve("context");
        Files.createDirectories(context.resolve("app/sub"));
        Files.writeString(context.resolve("one.txt"), "1");
        Files.writeString(context.resolve("app/sub/two"), "2");
        Files.createSymbolicLink(context.resolve("app/link"), Path.of("/etc/shadow"));
        Path script = Files.writeString(context.resolve("app/run.sh"), "#!/bin/sh\necho ran\n");
        Files.setAttribute(script, "unix:mode", 0700);
        Path template = Files.writeString(context.resolve("my.template"), """
                from host
                copy one.txt /etc/one
                copy one.txt /opt/dir/
                user user
                copy app /home/user/new/app
                run /home/user/new/app/run.sh > /home/user/out
                """);

        Template built = builder.build(TemplateFile.read(template), "copied", events::add);

        Path root = built.root();
        assertThat(root.resolve("etc/one")).hasContent("1");
        assertThat(root.resolve("opt/dir/one.txt")).hasContent("1");
        assertThat(root.resolve("home/user/new/app/sub/two")).hasContent("2");
        assertThat(root.resolve("home/user/out")).hasContent("ran");
        assertThat(Files.readSymbolicLink(root.resolve("home/user/new/app/link")))
                .isEqualTo(Path.of("/etc/shadow"));
        assertThat(owner(root.resolve("etc/one"))).isZero();
        assertThat(owner(root.resolve("home/user/new/app/sub/two"))).isEqualTo(1000);
        assertThat(owner(root.resolve("home/user/new"))).isEqualTo(1000);
        assertThat(owner(root.resolve("home/user/new/app/link"))).isEqualTo(1000);
    }

    @Test
    void refusesACopyThatALinkLeadsOutOfTheDirectory() throws IOException {
        Path context = Files.createDirectory(dir.resolve("context"));
        Files.createSymbolicLink(context.resolve("innocent"), Path.of("/etc/passwd"));
        Path template = Files.writeString(context.resolve("t"), "from host\ncopy innocent /x\n");
        Path missing = Files.writeString(context.resolve("m"), "from host\ncopy missing /x\n");

        assertThatThrownBy(() -> builder.build(TemplateFile.read(template), "copied", events::add))
                .hasMessageContaining("t line 2: 'innocent' is a link that leads out");
        assertThatThrownBy(() -> builder.build(TemplateFile.read(missing), "copied", events::add))
                .hasMessageContaining("m line 2: there is no 'missing'");
    }

    @Test
    void returnsTheSameVersionWhenNothingChanged() {
        Template first = build("from host\nrun echo 1 > /x");
        events.clear();

        Template second = build("from host\n# only a comment is new\nrun echo 1 > /x");

        assertThat(second).isEqualTo(first);
        assertThat(events).containsExactly(new BuildEvent.Published(first.info(), true));
    }

    @Test
    void doesOnlyTheStepsFromTheFirstChangedOneOn() {
        build("from host\nrun echo 1 > /x\nrun echo 2 > /y\nrun echo 3 > /z");
        events.clear();

        Template second = build("from host\nrun echo 1 > /x\nrun echo 4 > /y\nrun echo 3 > /z");

        assertThat(second.version()).isEqualTo(2);
        assertThat(second.root().resolve("y")).hasContent("4");
        assertThat(cachedSteps()).containsExactly("from host", "run echo 1 > /x");
    }

    @Test
    void doesACopyAgainWhenTheFilesChanged() throws IOException {
        Path context = Files.createDirectory(dir.resolve("context"));
        Files.writeString(context.resolve("a"), "old");
        Path template = Files.writeString(context.resolve("t"), "from host\nrun true\ncopy a /a\n");
        builder.build(TemplateFile.read(template), "copied", events::add);
        Files.writeString(context.resolve("a"), "new");

        Template second = builder.build(TemplateFile.read(template), "copied", events::add);

        assertThat(second.version()).isEqualTo(2);
        assertThat(second.root().resolve("a")).hasContent("new");
    }

    @Test
    void doesEverythingAgainWhenAskedTo() {
        String text = "from host\nrun date +%N > /x\nrun cp /x /y";
        Template first = build(text);

        Template second = builder.rebuild(file(text), "test", events::add);
        Template third = build(text + "\nrun cp /x /z");

        assertThat(second.version()).isEqualTo(2);
        assertThat(read(second, "x")).isNotEqualTo(read(first, "x")).isEqualTo(read(second, "y"));
        assertThat(read(third, "z")).isEqualTo(read(second, "x"));
    }

    @Test
    void buildsWithoutTheCacheAsWell() {
        Template first = build("from host\nrun head -c 1000 /dev/zero > /x");

        assertThat(store.clearCache()).isGreaterThanOrEqualTo(1000);

        assertThat(build("from host\nrun head -c 1000 /dev/zero > /x")).isEqualTo(first);
        assertThat(build("from host\nrun head -c 1000 /dev/zero > /x\nrun cp /x /y")
                        .root()
                        .resolve("y"))
                .hasSize(1000);
    }

    @Test
    void neverPutsALayerOnLayersItWasNotMadeOn() throws IOException {
        String text = "from host\nrun date +%N > /x\nrun cp /x /y";
        build(text);
        Template other = builder.rebuild(file("from host\nrun date +%N > /x"), "other", events::add);

        Template again = builder.build(file(text), "again", events::add);

        assertThat(read(again, "x")).isEqualTo(read(other, "x"));
        assertThat(read(again, "y")).isEqualTo(read(again, "x"));
    }

    @Test
    void saysWhichStepFailedAndWhyAndKeepsTheStepsBefore() {
        assertThatThrownBy(
                        () -> build("from host\nrun echo fine > /x\n\nrun seq 30; echo broken >&2; exit 3\nrun true"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .hasMessageContaining("test.template line 4: 'run seq 30; echo broken >&2; exit 3' ended with status 3")
                .hasMessageContaining("12\n")
                .hasMessageEndingWith("30\n  broken")
                .hasMessageNotContaining("  11\n");
        assertThat(store.find("test")).isEmpty();
        events.clear();

        build("from host\nrun echo fine > /x\nrun true");

        assertThat(cachedSteps()).containsExactly("from host", "run echo fine > /x");
    }

    @Test
    void saysWhenPackagesOrUsersCannotBeHad() {
        assertThatThrownBy(() -> build("from host\npackage git")).hasMessageContaining("use 'from base'");
        assertThatThrownBy(() -> build("from host\nuser nobodyknows\nrun true"))
                .hasMessageContaining("no user 'nobodyknows'");
        assertThatThrownBy(() -> build("from host\nuser nobodyknows")).hasMessageContaining("no user 'nobodyknows'");
        assertThatThrownBy(() -> build("from nowhere")).hasMessageContaining("line 1: there is no template 'nowhere'");
        assertThatThrownBy(() -> builder.build(file("from host"), "host", events::add))
                .hasMessageContaining("another name");
        assertThatThrownBy(() -> builder.build(file("from host"), "a:1", events::add))
                .hasMessageContaining("next version");
    }

    @Test
    void tellsWhatItDoesWhileItDoesIt() {
        Template built = build("from host\nrun echo hello; printf 'a\\rb\\n'");

        assertThat(events)
                .filteredOn(e -> !(e instanceof BuildEvent.StepFinished))
                .containsExactly(
                        new BuildEvent.StepStarted(1, 3, "from host"),
                        new BuildEvent.StepStarted(2, 3, "run echo hello; printf 'a\\rb\\n'"),
                        new BuildEvent.StepOutput(2, 3, "hello"),
                        new BuildEvent.StepOutput(2, 3, "a"),
                        new BuildEvent.StepOutput(2, 3, "b"),
                        new BuildEvent.StepStarted(3, 3, "publish test"),
                        new BuildEvent.Published(built.info(), false));
    }

    @Test
    void goesOnWhenItsWatcherFails() {
        Template built = builder.build(file("from host\nrun yes | head -c 1000000"), "test", event -> {
            if (event instanceof BuildEvent.StepOutput) {
                throw new IllegalStateException("watcher");
            }
        });
        assertThat(built.version()).isEqualTo(1);
    }

    @Test
    void keepsStepsAwayFromTheHost() throws IOException {
        Path secret = Files.writeString(dir.resolve("secret"), "secret");
        Files.setAttribute(secret, "unix:mode", 0600);

        Template built = build(
                "from host\nrun { cat " + secret + "; ls -A /root; ls /proc | grep -c '^[0-9]';"
                        + " mount -t tmpfs x /mnt; mknod /dev-node b 8 0; echo x > /proc/sys/kernel/hostname; } > /out 2>&1; true");

        assertThat(read(built, "out"))
                .doesNotContain("secret\n")
                .contains("No such file")
                .contains("mount: /mnt: ")
                .contains("mknod: ")
                .contains("Read-only file system");
        assertThat(built.root().resolve("dev-node")).doesNotExist();
        assertThat(built.root().resolve("etc/resolv.conf")).isEmptyFile();
    }

    @Test
    void refusesARootWhoseMountPointsLeadElsewhere() {
        assertThatThrownBy(() -> build("from host\nrun rm -r /.berth && ln -s /etc /.berth"))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .hasMessageContaining("/.berth");
        assertThat(Path.of("/etc/guest")).doesNotExist();
    }

    @Test
    void waitsForAnotherBuildAndSaysSo() throws Exception {
        CompletableFuture<Template> build;
        try (ProcessLock _ = lock()) {
            build = CompletableFuture.supplyAsync(() -> build("from host\nrun true"));
            while (events.isEmpty()) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
            assertThat(events).containsExactly(new BuildEvent.Waiting());
        }
        assertThat(build.get(60, TimeUnit.SECONDS).version()).isEqualTo(1);
    }

    @Test
    void endsItsStepWhenItIsInterrupted() throws Exception {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        Thread thread = Thread.ofVirtual().start(() -> {
            try {
                build("from host\nrun echo started; sleep 4711.5");
            } catch (SandboxException e) {
                failure.complete(e);
            }
        });
        awaitOutput("started");

        thread.interrupt();

        assertThat(thread.join(Duration.ofSeconds(60))).isTrue();
        assertThat(failure.get(60, TimeUnit.SECONDS)).hasMessageContaining("interrupted");
        awaitNoProcess("4711.5");
    }

    @Test
    void leavesNeitherMountsNorProcessesWhenKilledAndTheNextBuildGoesOn() throws Exception {
        Path out = dir.resolve("out");
        Process victim = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        KilledBuild.class.getName(),
                        store.directory().toString())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        try {
            while (!Files.readString(out).contains("started")) {
                assertThat(victim.isAlive()).as(Files.readString(out)).isTrue();
                TimeUnit.MILLISECONDS.sleep(20);
            }
        } finally {
            victim.destroyForcibly().waitFor();
        }
        awaitNoProcess("4711.25");
        assertThat(store.directory().resolve(".build/now")).exists();

        build("from host\nrun echo kept > /x\nrun true");

        assertThat(cachedSteps()).containsExactly("from host", "run echo kept > /x");
    }

    /** The program that is killed in the middle of a step. */
    static final class KilledBuild {
        public static void main(String[] args) {
            new TemplateBuilder(new TemplateStore(Path.of(args[0])))
                    .build(
                            TemplateFile.parse(
                                    "killed",
                                    "from host\nrun echo kept > /x\nrun echo started; sleep 4711.25",
                                    Optional.empty()),
                            "killed",
                            event -> {
                                if (event instanceof BuildEvent.StepOutput output) {
                                    System.out.println(output.line());
                                }
                            });
        }
    }

    private Template build(String text) {
        return builder.build(file(text), "test", events::add);
    }

    private ProcessLock lock() {
        store.prepare();
        return ProcessLock.acquire(store.buildLock());
    }

    private List<String> cachedSteps() {
        List<String> texts = new ArrayList<>();
        for (BuildEvent event : List.copyOf(events)) {
            if (event instanceof BuildEvent.StepFinished done && done.cached()) {
                texts.add(done.text());
            }
        }
        return texts;
    }

    private void awaitOutput(String line) throws InterruptedException {
        while (List.copyOf(events).stream()
                .noneMatch(e -> e instanceof BuildEvent.StepOutput o && o.line().equals(line))) {
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private static void awaitNoProcess(String argument) throws InterruptedException {
        while (ProcessHandle.allProcesses()
                .anyMatch(p -> p.info().commandLine().orElse("").endsWith("sleep " + argument))) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private static String read(Template template, String path) {
        try {
            return Files.readString(template.root().resolve(path));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static int owner(Path path) throws IOException {
        return (int) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS) - IdMap.BASE;
    }
}
