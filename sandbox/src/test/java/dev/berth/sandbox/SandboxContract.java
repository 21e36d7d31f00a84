package dev.berth.sandbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * What a sandbox promises, written once. Every provider module extends this and passes all of it; what it declares not
 * to be capable of is skipped with that reason.
 */
public abstract class SandboxContract extends UserFilesContract {
    private static final long MIB = 1024 * 1024;

    private static InputStream bytes(String text) {
        return new ByteArrayInputStream(text.getBytes(UTF_8));
    }

    private static String text(InputStream stream) throws IOException {
        try (stream) {
            return new String(stream.readAllBytes(), UTF_8);
        }
    }

    // ---- commands ------------------------------------------------------------------------------------------------

    @Test
    void runsACommandAndReturnsItsOutputAndCode() {
        Result result = run(create(), "echo out; echo err >&2; exit 7");
        assertThat(result.stdout()).isEqualTo("out\n");
        assertThat(result.stderr()).isEqualTo("err\n");
        assertThat(result.code()).isEqualTo(7);
        assertThat(result.exit().signal()).isZero();
        assertThat(result.truncated()).isFalse();
    }

    @Test
    void passesArgumentsAsTheyAre() {
        String odd = "a b'c\"d$HOME`e`\\n*ü\n";
        Result result = create().run(Command.of("printf", "%s|%s", odd, ""));
        assertThat(result.stdout()).isEqualTo(odd + "|");
    }

    @Test
    void runsAsTheDefaultUserInItsHome() {
        Result result = run(create(), "id -un; id -u; pwd; echo $HOME");
        assertThat(result.stdout()).isEqualTo("user\n1000\n/home/user\n/home/user\n");
    }

    @Test
    void runsAsAnotherUserWhenAsked() {
        Sandbox sandbox = create();
        assertThat(sandbox.run(Command.shell("id -u; pwd").withUser("root")).stdout())
                .isEqualTo("0\n/root\n");
        assertThat(sandbox.run(Command.shell("id -u; id -g").withUser("1234:99").withCwd("/tmp"))
                        .stdout())
                .isEqualTo("1234\n99\n");
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.run(Command.of("true").withUser("nobody-of-that-name")));
    }

    @Test
    void layersTheEnvironment() {
        Sandbox sandbox = create(spec().withEnv(Map.of("A", "sandbox", "B", "sandbox")));
        Result result = sandbox.run(Command.shell("echo $A $B $C").withEnv(Map.of("B", "command", "C", "command")));
        assertThat(result.stdout()).isEqualTo("sandbox command command\n");
    }

    @Test
    void newVariablesAreThoseOfTheNextCommands() {
        Sandbox sandbox = create(spec().withEnv(Map.of("A", "before", "B", "before")));
        sandbox.env(Map.of("A", "after", "C", "after"));
        assertThat(sandbox.env()).isEqualTo(Map.of("A", "after", "C", "after"));
        assertThat(run(sandbox, "echo $A.$B.$C").stdout()).isEqualTo("after..after\n");
        sandbox.stop();
        sandbox.wake();
        assertThat(run(sandbox, "echo $A.$B.$C").stdout()).isEqualTo("after..after\n");
        assertFails(ErrorCode.INVALID, () -> sandbox.env(Map.of("A=B", "no name")));
        assertThat(sandbox.env()).containsEntry("A", "after");
    }

    @Test
    void startsInTheDirectoryAskedFor() {
        assertThat(create().run(Command.of("pwd").withCwd("/usr/bin")).stdout()).isEqualTo("/usr/bin\n");
    }

    @Test
    void refusesWhatCannotBeStartedWithAReason() {
        Sandbox sandbox = create();
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.run(Command.of("no-such-program")));
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.run(Command.of("/no/such/program")));
        assertFails(ErrorCode.DENIED, () -> sandbox.run(Command.of("/etc/passwd")));
        assertFails(ErrorCode.DENIED, () -> sandbox.run(Command.of("/tmp")));
        assertFails(ErrorCode.INVALID, () -> sandbox.run(Command.of("true").withCwd("/no/such/dir")));
        assertThat(run(sandbox, "echo fine").stdout()).isEqualTo("fine\n");
        assertThat(sandbox.commands()).isEmpty();
    }

    @Test
    void refusesBadInputBeforeItReachesTheSandbox() {
        assertFails(ErrorCode.INVALID, () -> Command.of());
        assertFails(ErrorCode.INVALID, () -> Command.of("a\0b"));
        assertFails(ErrorCode.INVALID, () -> Command.of("true").withEnv(Map.of("A", "x\0y")));
        assertFails(ErrorCode.INVALID, () -> Command.of("true").withEnv(Map.of("A=B", "x")));
        assertFails(ErrorCode.INVALID, () -> Command.of("true").withCwd("relative"));
        assertFails(ErrorCode.INVALID, () -> Command.of("true").withUser("../root"));
        assertFails(ErrorCode.INVALID, () -> Command.of("echo", "x".repeat(100_000_000)));
        String[] many = new String[40_000];
        Arrays.fill(many, "x".repeat(100));
        assertFails(ErrorCode.INVALID, () -> Command.of(many));
        assertFails(ErrorCode.INVALID, () -> new SandboxId("../x"));
        assertFails(ErrorCode.INVALID, () -> limits().withMemory(-1));
    }

    @Test
    void takesALongCommandLine() {
        String[] argv = new String[15];
        Arrays.fill(argv, "x".repeat(120_000));
        argv[0] = "bash";
        argv[1] = "-c";
        argv[2] = "echo $#";
        assertThat(create().run(Command.of(argv)).stdout()).isEqualTo("11\n");
    }

    @Test
    void reportsTheSignalThatEndedACommand() {
        Exit exit = run(create(), "kill -TERM $$").exit();
        assertThat(exit.signal()).isEqualTo(15);
        assertThat(exit.code()).isEqualTo(143);
    }

    @Test
    void streamsOutputWhileTheCommandRuns() throws IOException {
        Sandbox sandbox = create();
        try (RunningCommand command =
                sandbox.start(Command.shell("echo first; read x; echo got $x").withStdin())) {
            assertThat(new String(command.stdout().readNBytes(6), UTF_8)).isEqualTo("first\n");
            command.stdin().write("word\n".getBytes(UTF_8));
            command.stdin().flush();
            assertThat(text(command.stdout())).isEqualTo("got word\n");
            assertThat(command.await().code()).isZero();
        }
    }

    @Test
    void readsTheEndOfFileWithoutStdin() {
        assertThat(run(create(), "cat; echo end").stdout()).isEqualTo("end\n");
    }

    @Test
    void closingStdinEndsIt() throws IOException {
        try (RunningCommand command = create().start(Command.of("wc", "-c").withStdin())) {
            byte[] data = new byte[3_000_000];
            command.stdin().write(data);
            command.stdin().close();
            assertThat(text(command.stdout()).strip()).isEqualTo("3000000");
        }
    }

    @Test
    void carriesEveryByteOfLargeOutput() throws IOException {
        int size = 20_000_000;
        try (RunningCommand command = create().start(Command.shell("head -c " + size + " /dev/zero | tr '\\0' 'a'"))) {
            byte[] buffer = new byte[65_536];
            long total = 0;
            for (int n = command.stdout().read(buffer);
                    n >= 0;
                    n = command.stdout().read(buffer)) {
                for (int i = 0; i < n; i += 4096) {
                    assertThat(buffer[i]).isEqualTo((byte) 'a');
                }
                total += n;
            }
            assertThat(total).isEqualTo(size);
            assertThat(command.dropped()).isZero();
        }
    }

    @Test
    void aReaderWhoWaitsBlocksTheCommandAndLosesNothing() throws Exception {
        Sandbox sandbox = create();
        try (RunningCommand command = sandbox.start(Command.shell("head -c 8000000 /dev/zero; touch /tmp/written"))) {
            run(sandbox, "true");
            assertThat(sandbox.files().exists("/tmp/written")).isFalse();
            assertThat(command.stdout().readAllBytes()).hasSize(8_000_000);
            assertThat(command.await().code()).isZero();
        }
        assertThat(sandbox.files().exists("/tmp/written")).isTrue();
    }

    @Test
    void dropsTheOldestOutputWhenAskedTo() throws Exception {
        Sandbox sandbox = create(spec().withLimits(limits().withOutput(65_536)));
        try (RunningCommand command = sandbox.start(Command.shell("head -c 8000000 /dev/zero; echo; echo the end")
                .whenFull(Command.WhenFull.DROP_OLDEST))) {
            assertThat(command.await(PATIENCE)).isPresent();
            String kept = text(command.stdout());
            assertThat(kept).endsWith("the end\n");
            assertThat(command.dropped()).isPositive();
            assertThat(command.dropped() + kept.length()).isEqualTo(8_000_000 + 9);
        }
    }

    @Test
    void saysThatOutputWasTruncated() {
        Sandbox sandbox = create(spec().withLimits(limits().withOutput(4096)));
        Result result = run(sandbox, "head -c 100000 /dev/zero");
        assertThat(result.stdoutBytes()).hasSize(4096);
        assertThat(result.truncated()).isTrue();
        assertThat(result.exit().limitsHit()).contains(Limit.OUTPUT);
    }

    @Test
    void aTimeoutKillsTheWholeGroupAndKeepsTheOutput() {
        Sandbox sandbox = create();
        Result result = sandbox.run(
                Command.shell("echo partial; sleep 1000 & sleep 1000").withTimeout(Duration.ofSeconds(2)));
        assertThat(result.exit().timedOut()).isTrue();
        assertThat(result.exit().signal()).isEqualTo(9);
        assertThat(result.stdout()).isEqualTo("partial\n");
        String gone = "timeout 60 bash -c 'while pgrep sleep > /dev/null; do :; done' && echo gone";
        assertThat(run(sandbox, gone).stdout()).isEqualTo("gone\n");
    }

    @Test
    void signalsTheWholeProcessGroup() throws Exception {
        Sandbox sandbox = create();
        try (RunningCommand command = sandbox.start(Command.shell("sleep 1000 & echo go; wait"))) {
            assertThat(command.stdout().readNBytes(3)).hasSize(3);
            command.signal(Signal.KILL);
            assertThat(command.await().signal()).isEqualTo(9);
        }
        String gone = "timeout 60 bash -c 'while pgrep sleep > /dev/null; do :; done' && echo gone";
        assertThat(run(sandbox, gone).stdout()).isEqualTo("gone\n");
    }

    @Test
    void aDaemonThatHoldsTheOutputDoesNotHoldUpTheResult() {
        Sandbox sandbox = create();
        Result result = run(sandbox, "setsid sleep 1000 & echo started");
        assertThat(result.stdout()).isEqualTo("started\n");
        String there = "timeout 60 bash -c 'until pgrep sleep > /dev/null; do :; done' && echo there";
        assertThat(run(sandbox, there).stdout()).isEqualTo("there\n");
    }

    @Test
    void runsManyCommandsAtOnce() throws Exception {
        Sandbox sandbox = create();
        List<RunningCommand> running = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            running.add(sandbox.start(Command.shell("read x; echo $x").withStdin()));
        }
        assertThat(sandbox.commands()).hasSize(30);
        for (int i = 29; i >= 0; i--) {
            running.get(i).stdin().write((i + "\n").getBytes(UTF_8));
        }
        for (int i = 0; i < 30; i++) {
            assertThat(text(running.get(i).stdout())).isEqualTo(i + "\n");
            running.get(i).close();
        }
        eventually("all commands are released", () -> sandbox.commands().isEmpty());
    }

    @Test
    void listsCommandsByTagAndAttachesToThem() throws Exception {
        needs(Capability.REATTACH);
        Sandbox sandbox = create();
        RunningCommand first = sandbox.start(
                Command.shell("echo one; read x; echo $x").withStdin().withTag("talk"));
        assertThat(first.stdout().readNBytes(4)).hasSize(4);
        CommandInfo info = sandbox.commands().getFirst();
        assertThat(info.tag()).isEqualTo("talk");
        assertThat(info.pid()).isEqualTo(first.pid());
        assertThat(info.exit()).isEmpty();
        first.close();
        try (RunningCommand second = sandbox.attach(info.id(), 0, 0)) {
            second.stdin().write("two\n".getBytes(UTF_8));
            assertThat(text(second.stdout())).isEqualTo("one\ntwo\n");
            assertThat(second.await().code()).isZero();
        }
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.attach(99_999, 0, 0));
    }

    @Test
    void whoeverComesAndGoesWhileACommandPrintsReadsAllOfItOnce() throws Exception {
        needs(Capability.REATTACH);
        Sandbox sandbox = create();
        String whole = IntStream.rangeClosed(1, 200_000).mapToObj(i -> i + "\n").collect(Collectors.joining());
        int id;
        try (RunningCommand first =
                sandbox.start(Command.shell("seq 1 200000; read x").withStdin())) {
            id = first.id();
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (all.size() < whole.length()) {
            try (RunningCommand again = sandbox.attach(id, all.size(), 0)) {
                InputStream in = again.stdout();
                in.mark(64 << 10);
                all.write(in.readNBytes(Math.min(30_000, whole.length() - all.size())));
                in.mark(64 << 10);
            }
        }
        assertThat(all.toString(UTF_8)).isEqualTo(whole);
    }

    @Test
    void whoAttachesLastHasTheCommandWhateverTheOtherDoes() throws Exception {
        needs(Capability.REATTACH);
        Sandbox sandbox = create();
        RunningCommand first =
                sandbox.start(Command.shell("echo one; read x; echo $x").withStdin());
        try (RunningCommand second = sandbox.attach(first.id(), 0, 0)) {
            assertFails(ErrorCode.CONFLICT, first::await);
            first.close();
            second.stdin().write("two\n".getBytes(UTF_8));
            assertThat(text(second.stdout())).isEqualTo("one\ntwo\n");
            assertThat(second.await().code()).isZero();
        }
    }

    @Test
    void keepsTheEndOfACommandNobodyWaitedFor() throws Exception {
        needs(Capability.REATTACH);
        Sandbox sandbox = create();
        RunningCommand command = sandbox.start(Command.shell("until [ -e go ]; do sleep 0.01; done; echo bye; exit 3"));
        int id = command.id();
        command.close();
        sandbox.files().write("go", bytes(""));
        eventually(
                "the command ended", () -> sandbox.commands().getFirst().exit().isPresent());
        try (RunningCommand again = sandbox.attach(id, 0, 0)) {
            assertThat(text(again.stdout())).isEqualTo("bye\n");
            assertThat(again.await().code()).isEqualTo(3);
        }
        eventually("the command is released", () -> sandbox.commands().isEmpty());
    }

    @Test
    void givesATerminal() throws Exception {
        needs(Capability.PTY);
        try (RunningCommand command = create().start(Command.shell("tty; stty size; read x; stty size; echo $TERM")
                .withTerminal(new TerminalSize(30, 100)))) {
            StringBuilder seen = new StringBuilder();
            while (!seen.toString().contains("30 100")) {
                seen.append(new String(command.stdout().readNBytes(1), UTF_8));
            }
            assertThat(seen.toString()).contains("/dev/pts/");
            command.resize(new TerminalSize(40, 120));
            command.stdin().write("\n".getBytes(UTF_8));
            assertThat(text(command.stdout())).contains("40 120").contains("xterm");
            assertThat(command.await().code()).isZero();
        }
    }

    @Test
    void sendsCtrlCThroughTheTerminal() throws Exception {
        needs(Capability.PTY);
        needs(Capability.PTY_SIGNALS);
        try (RunningCommand command =
                create().start(Command.shell("echo ready; sleep 1000").withTerminal(new TerminalSize(24, 80)))) {
            assertThat(command.stdout().readNBytes(5)).hasSize(5);
            command.stdin().write(3);
            assertThat(command.await(PATIENCE).orElseThrow().code()).isNotZero();
        }
    }

    // ---- connections ---------------------------------------------------------------------------------------------

    private static final String ECHO_SERVER = """
            import socket
            s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
            print(s.getsockname()[1], flush=True)
            c = s.accept()[0]
            while True:
                d = c.recv(65536)
                if not d: break
                c.sendall(d)
            c.sendall(b'end'); c.close()
            """;

    @Test
    void dialsAPortInside() throws Exception {
        needs(Capability.DIAL);
        Sandbox sandbox = create();
        try (RunningCommand server = sandbox.start(Command.of("python3", "-c", ECHO_SERVER))) {
            int port = Integer.parseInt(
                    new java.io.BufferedReader(new java.io.InputStreamReader(server.stdout(), UTF_8)).readLine());
            try (Connection connection = sandbox.dial(port)) {
                byte[] sent = new byte[2_000_000];
                Arrays.fill(sent, (byte) 'x');
                Thread writer = Thread.startVirtualThread(() -> {
                    try (var output = connection.output()) {
                        output.write(sent);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
                byte[] received = connection.input().readAllBytes();
                writer.join();
                assertThat(received).hasSize(sent.length + 3);
                assertThat(new String(received, sent.length, 3, UTF_8)).isEqualTo("end");
            }
        }
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.dial(1));
        assertFails(ErrorCode.INVALID, () -> sandbox.dial(70_000));
    }

    @Test
    void hasNoNetworkButLoopback() {
        Sandbox sandbox = create();
        assertThat(sandbox.run(Command.of(
                                "python3", "-c", "import socket; print([name for _, name in socket.if_nameindex()])"))
                        .stdout())
                .isEqualTo("['lo']\n");
        assertThat(run(
                                sandbox,
                                "timeout 5 bash -c 'echo > /dev/tcp/192.0.2.1/80' 2>/dev/null && echo open || echo closed")
                        .stdout())
                .isEqualTo("closed\n");
    }

    // ---- files ---------------------------------------------------------------------------------------------------

    @Test
    void filesWrittenOutsideAreSeenInsideAndBack() throws IOException {
        Sandbox sandbox = create();
        SandboxFiles files = sandbox.files();
        files.write("/home/user/deep/er/note.txt", bytes("hello\n"));
        assertThat(run(sandbox, "cat deep/er/note.txt; stat -c '%U %a' deep/er/note.txt deep")
                        .stdout())
                .isEqualTo("hello\nuser 644\nuser 755\n");
        run(sandbox, "echo more >> deep/er/note.txt; chmod 600 deep/er/note.txt");
        assertThat(text(files.read("deep/er/note.txt"))).isEqualTo("hello\nmore\n");
        FileInfo info = files.stat("/home/user/deep/er/note.txt");
        assertThat(info.size()).isEqualTo(11);
        assertThat(info.mode()).isEqualTo(0600);
        assertThat(info.uid()).isEqualTo(1000);
        assertThat(info.type()).isEqualTo(FileInfo.Type.FILE);
    }

    @Test
    void readsARange() throws IOException {
        SandboxFiles files = create().files();
        files.write("/tmp/digits", bytes("0123456789"));
        assertThat(text(files.read("/tmp/digits", 3, 4))).isEqualTo("3456");
        assertThat(text(files.read("/tmp/digits", 8, 100))).isEqualTo("89");
        assertThat(text(files.read("/tmp/digits", 100, 1))).isEmpty();
    }

    @Test
    void replacesAFileAtOnceAndKeepsItsMode() throws IOException {
        Sandbox sandbox = create();
        run(sandbox, "echo old > script; chmod 755 script");
        sandbox.files().write("script", bytes("new\n"));
        assertThat(run(sandbox, "cat script; stat -c %a script; ls -A | grep -c script")
                        .stdout())
                .isEqualTo("new\n755\n1\n");
    }

    @Test
    void aFailedWriteLeavesTheOldFile() throws IOException {
        SandboxFiles files = create().files();
        files.write("keep", bytes("old"));
        InputStream broken = new ByteArrayInputStream(new byte[100_000]) {
            @Override
            public synchronized int read(byte[] target, int offset, int length) {
                int n = super.read(target, offset, length);
                if (n < 0) {
                    throw new UncheckedIOException(new IOException("the upload broke off"));
                }
                return n;
            }
        };
        assertThatThrownBy(() -> files.write("keep", broken)).hasStackTraceContaining("broke off");
        assertThat(text(files.read("keep"))).isEqualTo("old");
        assertThat(files.list("/home/user", 1)).noneMatch(f -> f.size() >= 100_000);
    }

    @Test
    void appendsMovesRemovesAndMakesDirectories() throws IOException {
        Sandbox sandbox = create();
        SandboxFiles files = sandbox.files();
        files.append("log", bytes("a"));
        files.append("log", bytes("b"));
        assertThat(files.makeDirectory("box/inner")).isTrue();
        assertThat(files.makeDirectory("box/inner")).isFalse();
        assertFails(ErrorCode.INVALID, () -> files.makeDirectory("log"));
        assertFails(ErrorCode.NOT_FOUND, () -> files.move("none", "new/none"));
        assertThat(files.exists("new")).isFalse();
        files.move("log", "new/parent/log");
        files.move("new/parent/log", "box/inner/log");
        assertThat(text(files.read("box/inner/log"))).isEqualTo("ab");
        assertThat(files.exists("log")).isFalse();
        files.chmod("box/inner/log", 0640);
        files.chown("box/inner/log", 0, 0);
        assertThat(run(sandbox, "stat -c '%U %a' box/inner/log").stdout()).isEqualTo("root 640\n");
        files.remove("box");
        assertThat(files.exists("box")).isFalse();
    }

    @Test
    void listsADirectoryToTheDepthAskedFor() {
        Sandbox sandbox = create();
        run(sandbox, "mkdir -p tree/a/b; touch tree/1 tree/a/2 tree/a/b/3; ln -s /etc tree/link");
        assertThat(sandbox.files().list("tree", 1).stream().map(FileInfo::path))
                .containsExactly("/home/user/tree/1", "/home/user/tree/a", "/home/user/tree/link");
        assertThat(sandbox.files().list("tree", 2).stream().map(FileInfo::path))
                .contains("/home/user/tree/a/2")
                .doesNotContain("/home/user/tree/a/b/3");
        run(sandbox, "mkdir tree/a-b; touch tree/a-b/4 tree/a.c; ln -s tree toTree");
        assertThat(sandbox.files().list("toTree", 9).stream()
                        .map(FileInfo::path)
                        .map(path -> path.substring(17)))
                .as("each directory is followed by what is in it")
                .containsExactly("/1", "/a", "/a/2", "/a/b", "/a/b/3", "/a-b", "/a-b/4", "/a.c", "/link");
        FileInfo link = sandbox.files().stat("tree/link");
        assertThat(link.type()).isEqualTo(FileInfo.Type.LINK);
        assertThat(link.linkTarget()).contains("/etc");
    }

    @Test
    void tellsWhatIsWrongWithAPath() {
        SandboxFiles files = create().files();
        assertFails(ErrorCode.NOT_FOUND, () -> files.stat("/no/such"));
        assertFails(ErrorCode.NOT_FOUND, () -> files.read("/no/such"));
        assertFails(ErrorCode.INVALID, () -> files.read("/tmp"));
        assertFails(ErrorCode.INVALID, () -> files.stat("a\0b"));
        assertFails(ErrorCode.INVALID, () -> files.stat("/" + "x/".repeat(5000)));
        assertFails(ErrorCode.INVALID, () -> files.stat("x".repeat(300)));
        assertFails(ErrorCode.INVALID, () -> files.stat(""));
        assertFails(ErrorCode.INVALID, () -> files.remove("/"));
    }

    @Test
    void linksLeadNowhereOutside() throws IOException {
        Sandbox sandbox = create();
        run(sandbox, "ln -s /../../../../../../etc/hostname name; ln -s ../../../../../../../../etc up");
        assertThat(text(sandbox.files().read("name")))
                .isEqualTo(run(sandbox, "cat /etc/hostname").stdout());
        assertThat(text(sandbox.files().read("up/passwd")))
                .isEqualTo(run(sandbox, "cat /etc/passwd").stdout());
    }

    @Test
    void aViewOfADirectoryIsLeftByNothing() throws IOException {
        Sandbox sandbox = create();
        run(sandbox, "mkdir -p ws/sub; echo in > ws/in; ln -s /etc ws/etc; ln -s ../.bashrc ws/up; ln -s in ws/link");
        SandboxFiles view = sandbox.files().within("ws");

        view.write("sub/deep/new", bytes("new"));

        assertThat(run(sandbox, "cat ws/sub/deep/new; stat -c %U ws/sub/deep").stdout())
                .isEqualTo("newuser\n");
        assertThat(view.list("sub", 2).stream().map(FileInfo::path)).containsExactly("sub/deep", "sub/deep/new");
        assertThat(text(view.read("link"))).isEqualTo("in\n");
        for (String path : List.of("/etc/passwd", "../ws/in", "sub/../in", "etc/passwd", "up")) {
            assertFails(ErrorCode.DENIED, () -> view.read(path));
            assertFails(ErrorCode.DENIED, () -> view.write(path, bytes("x")));
        }
        assertFails(ErrorCode.DENIED, () -> view.move("in", "etc/in"));
        assertFails(ErrorCode.DENIED, () -> view.remove("etc/passwd"));
        assertFails(ErrorCode.DENIED, () -> view.list("etc", 1));
        assertFails(ErrorCode.INVALID, () -> view.read("a\0b"));
    }

    @Test
    void watchesADirectoryAndThoseMadeLater() throws Exception {
        needs(Capability.WATCH);
        Sandbox sandbox = create();
        run(sandbox, "mkdir watched");
        BlockingQueue<FileEvent> events = new LinkedBlockingQueue<>();
        try (SandboxFiles.Watch watch = sandbox.files().watch("watched", true, events::add)) {
            run(sandbox, "mkdir -p watched/new/er; echo x > watched/new/er/file; rm watched/new/er/file");
            List<String> wanted = new ArrayList<>(List.of(
                    "CREATED /home/user/watched/new",
                    "CREATED /home/user/watched/new/er",
                    "REMOVED /home/user/watched/new"));
            wanted.set(2, "CREATED /home/user/watched/later");
            run(sandbox, "touch watched/later");
            while (!wanted.isEmpty()) {
                FileEvent event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                assertThat(event).as("still missing: " + wanted).isNotNull();
                wanted.remove(event.kind() + " " + event.path());
            }
            run(sandbox, "echo y > watched/new/er/again");
            assertThat(eventsUntil(events, "WRITTEN /home/user/watched/new/er/again"))
                    .isTrue();
            assertThat(watch).isNotNull();
        }
    }

    private static boolean eventsUntil(BlockingQueue<FileEvent> events, String wanted) throws InterruptedException {
        FileEvent event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        while (event != null && !(event.kind() + " " + event.path()).equals(wanted)) {
            event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
        return event != null;
    }

    // ---- life ----------------------------------------------------------------------------------------------------

    @Test
    void findsWhatItCreatedAndNothingElse() {
        Sandbox sandbox = create(spec().withLabels(Map.of("for", "test")));
        Sandbox found = provider().find(sandbox.id()).orElseThrow();
        assertThat(found.info().labels()).containsEntry("for", "test");
        assertThat(found.state()).isEqualTo(SandboxState.RUNNING);
        assertThat(provider().list()).anyMatch(s -> s.id().equals(sandbox.id()));
        assertThat(provider().find(new SandboxId("never-made"))).isEmpty();
    }

    @Test
    void refusesASecondSandboxOfTheSameId() {
        SandboxSpec spec = spec();
        create(spec);
        assertFails(ErrorCode.CONFLICT, () -> provider().create(spec));
    }

    @Test
    void refusesAnUnknownTemplateAndLeavesNothing() {
        SandboxSpec spec = SandboxSpec.of("contract-unknown", "no-such-template");
        assertFails(ErrorCode.NOT_FOUND, () -> provider().create(spec));
        assertThat(provider().find(spec.id())).isEmpty();
    }

    @Test
    void pausingKeepsProcessesAndFilesStayUsable() throws Exception {
        needs(Capability.PAUSE);
        Sandbox sandbox = create();
        try (RunningCommand command =
                sandbox.start(Command.shell("read x; echo woke $x").withStdin())) {
            sandbox.pause();
            sandbox.pause();
            assertThat(sandbox.state()).isEqualTo(SandboxState.PAUSED);
            assertFails(ErrorCode.CONFLICT, () -> run(sandbox, "true"));
            sandbox.files().write("while-paused", bytes("written"));
            assertThat(text(sandbox.files().read("while-paused"))).isEqualTo("written");
            sandbox.wake();
            sandbox.wake();
            assertThat(sandbox.state()).isEqualTo(SandboxState.RUNNING);
            command.stdin().write("up\n".getBytes(UTF_8));
            assertThat(text(command.stdout())).isEqualTo("woke up\n");
        }
        assertThat(run(sandbox, "cat while-paused").stdout()).isEqualTo("written");
    }

    @Test
    void aRunThatAStopCutsOffIsGone() throws Exception {
        Sandbox sandbox = create();
        FutureTask<Result> cutOff = new FutureTask<>(() -> run(sandbox, "echo > started; sleep 1000"));
        Thread.ofVirtual().start(cutOff);
        while (!sandbox.files().exists("started")) {
            TimeUnit.MILLISECONDS.sleep(5);
        }
        sandbox.stop();
        assertThatThrownBy(cutOff::get)
                .cause()
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.GONE));
    }

    @Test
    void stoppingEndsProcessesAndKeepsFiles() {
        Sandbox sandbox = create();
        RunningCommand running = sandbox.start(Command.of("sleep", "1000"));
        run(sandbox, "echo kept > file; echo boot > /tmp/x");
        sandbox.stop();
        sandbox.stop();
        assertThat(sandbox.state()).isEqualTo(SandboxState.STOPPED);
        assertFails(ErrorCode.GONE, running::await);
        assertFails(ErrorCode.CONFLICT, () -> run(sandbox, "true"));
        assertThat(sandbox.files().stat("file").size()).isEqualTo(5);
        sandbox.wake();
        assertThat(run(sandbox, "cat file; pgrep sleep || echo none").stdout()).isEqualTo("kept\nnone\n");
        assertThat(run(sandbox, "cat /tmp/x").stdout()).isEqualTo("boot\n");
    }

    @Test
    void everyBootHasAnIdOfItsOwn() {
        needs(Capability.BOOT_ID);
        String read = "cat /proc/sys/kernel/random/boot_id";
        Sandbox sandbox = create();
        String boot = run(sandbox, read).stdout();
        assertThat(boot).matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n");
        assertThat(run(sandbox, read).stdout()).isEqualTo(boot);
        assertThat(run(create(), read).stdout()).isNotEqualTo(boot);
        sandbox.stop();
        sandbox.wake();
        assertThat(run(sandbox, read).stdout()).isNotEqualTo(boot);
    }

    @Test
    void destroyingRemovesItForGood() {
        Sandbox sandbox = create();
        RunningCommand running = sandbox.start(Command.of("sleep", "1000"));
        sandbox.destroy();
        sandbox.destroy();
        assertFails(ErrorCode.GONE, running::await);
        assertThat(sandbox.state()).isEqualTo(SandboxState.DESTROYED);
        assertThat(provider().find(sandbox.id())).isEmpty();
        assertFails(ErrorCode.GONE, () -> run(sandbox, "true"));
        assertFails(ErrorCode.GONE, () -> sandbox.files().stat("/"));
        Sandbox again = create(SandboxSpec.of(sandbox.id().value(), template()).withLimits(limits()));
        assertThat(run(again, "ls -A | grep -v '^\\.' | wc -l").stdout().strip())
                .isEqualTo("0");
    }

    @Test
    void isReadyWhileItRunsAndNotOtherwise() {
        Sandbox sandbox = create();
        assertThat(sandbox.ready()).isTrue();
        if (provider().capabilities().contains(Capability.PAUSE)) {
            sandbox.pause();
            assertThat(sandbox.ready()).isFalse();
            sandbox.wake();
            assertThat(sandbox.ready()).isTrue();
        }
        sandbox.stop();
        assertThat(sandbox.ready()).isFalse();
        sandbox.wake();
        assertThat(sandbox.ready()).isTrue();
        sandbox.destroy();
        assertThat(sandbox.ready()).isFalse();
    }

    @Test
    void reapsZombies() throws Exception {
        Sandbox sandbox = create();
        run(sandbox, "for i in $(seq 20); do (sleep 0 & setsid sleep 0 & exec sleep 0) & done; wait");
        awaitNoZombies(sandbox);
    }

    @Test
    void reapsTheChildrenThatASessionLeaderLeft() throws Exception {
        needs(Capability.SESSIONS);
        Sandbox sandbox = create();
        run(sandbox, "for i in $(seq 20); do (sleep 0 & exec setsid sleep 0) & done; wait");
        awaitNoZombies(sandbox);
    }

    private static void awaitNoZombies(Sandbox sandbox) throws Exception {
        eventually(
                "no zombies are left",
                () -> run(sandbox, "ps -eo stat= | grep -c '^Z' || true")
                        .stdout()
                        .strip()
                        .equals("0"));
    }

    // ---- limits --------------------------------------------------------------------------------------------------

    @Test
    void theMemoryLimitEndsTheCommandNotTheSandbox() {
        needs(Capability.MEMORY_LIMIT);
        Sandbox sandbox = create(spec().withLimits(limits().withMemory(64 * MIB)));
        Result result = run(sandbox, "python3 -c 'x = bytearray(500 * 1024 * 1024)'");
        assertThat(result.code()).isNotZero();
        if (provider().capabilities().contains(Capability.MEMORY_LIMIT_REPORTED)) {
            assertThat(result.exit().limitsHit()).contains(Limit.MEMORY);
        }
        assertThat(run(sandbox, "echo alive").stdout()).isEqualTo("alive\n");
    }

    @Test
    void thePidsLimitFailsTheForkNotTheSandbox() throws Exception {
        needs(Capability.PIDS_LIMIT);
        Sandbox sandbox = create(spec().withLimits(limits().withPids(20)));
        Result result = sandbox.run(Command.of(
                "python3", "-c", "import subprocess\nfor i in range(60): subprocess.Popen(['sleep', '1000'])"));
        assertThat(result.code()).isNotZero();
        assertThat(result.exit().limitsHit()).contains(Limit.PIDS);
        sandbox.stop();
        sandbox.wake();
        assertThat(run(sandbox, "echo alive").stdout()).isEqualTo("alive\n");
    }

    @Test
    void theDiskLimitFailsTheWriteAndNobodyElse() {
        needs(Capability.DISK_LIMIT);
        Sandbox small = create(spec().withLimits(limits().withDisk(32 * MIB)));
        Sandbox other = create();
        Result result = run(small, "head -c 100M /dev/urandom > big; echo code $?");
        assertThat(result.stderr()).containsAnyOf("No space left", "quota exceeded");
        assertThat(result.exit().limitsHit()).contains(Limit.DISK);
        assertThatThrownBy(() -> small.files().write("more", new ByteArrayInputStream(new byte[8_000_000])))
                .isInstanceOfSatisfying(SandboxException.class, e -> {
                    assertThat(e.code()).isEqualTo(ErrorCode.LIMIT);
                    assertThat(e.details()).containsEntry(SandboxException.LIMIT, "disk");
                });
        assertThat(run(other, "head -c 40M /dev/urandom > big && echo fine").stdout())
                .isEqualTo("fine\n");
        run(small, "rm big");
        sync(small);
        assertThat(run(small, "head -c 4M /dev/urandom > small && echo fine").stdout())
                .isEqualTo("fine\n");
    }

    @Test
    void limitsCanBeChangedWhileItRuns() {
        needs(Capability.LIVE_LIMITS);
        needs(Capability.MEMORY_LIMIT);
        Sandbox sandbox = create(spec().withLimits(limits().withMemory(64 * MIB)));
        String hog = "python3 -c 'x = bytearray(150 * 1024 * 1024); print(len(x))'";
        assertThat(run(sandbox, hog).code()).isNotZero();
        sandbox.limit(sandbox.limits().withMemory(400 * MIB).withCpus(0.5));
        assertThat(run(sandbox, hog).code()).isZero();
        assertThat(provider().find(sandbox.id()).orElseThrow().limits().memoryBytes())
                .isEqualTo(400 * MIB);
    }

    @Test
    void tellsWhatItUses() {
        Sandbox sandbox = create();
        run(sandbox, "head -c 5M /dev/urandom > data");
        sync(sandbox);
        Usage usage = sandbox.usage();
        assertThat(usage.memoryBytes()).isPositive();
        assertThat(usage.cacheBytes()).isBetween(0L, usage.memoryBytes());
        assertThat(usage.pids()).isPositive();
        assertThat(usage.diskBytes()).isGreaterThan(4 * MIB);
    }

    // ---- points in time ------------------------------------------------------------------------------------------

    @Test
    void rollsBackToACheckpoint() {
        needs(Capability.CHECKPOINT);
        Sandbox sandbox = create();
        run(sandbox, "echo one > file; mkdir dir; touch dir/a");
        Checkpoint point = sandbox.checkpoint("before");
        run(sandbox, "echo two > file; rm -r dir; touch other");
        sandbox.rollback(point.id());
        assertThat(run(sandbox, "cat file; ls dir; ls other 2>&1 | grep -c cannot")
                        .stdout())
                .isEqualTo("one\na\n1\n");
        assertThat(sandbox.info().parent()).contains(point.id());
        sandbox.rollback(point.id());
        assertThat(run(sandbox, "cat file").stdout()).isEqualTo("one\n");
        provider().deleteCheckpoint(point.id());
        assertFails(ErrorCode.NOT_FOUND, () -> sandbox.rollback(point.id()));
        assertThat(run(sandbox, "cat file").stdout()).isEqualTo("one\n");
    }

    @Test
    void aCheckpointOutlivesItsSandbox() {
        needs(Capability.CHECKPOINT);
        Sandbox sandbox = create();
        run(sandbox, "echo treasure > file");
        Checkpoint point = sandbox.checkpoint("last");
        sandbox.destroy();
        assertThat(provider().checkpoints()).contains(point);
        SandboxSpec spec = spec();
        Sandbox restored = create(
                new SandboxSpec(spec.id(), Origin.checkpoint(point.id()), limits(), Network.NONE, Map.of(), Map.of()));
        assertThat(run(restored, "cat file").stdout()).isEqualTo("treasure\n");
        provider().deleteCheckpoint(point.id());
        assertThat(run(restored, "cat file").stdout()).isEqualTo("treasure\n");
    }

    @Test
    void aVolumeIsSharedAndOutlivesItsSandboxes() throws IOException {
        needs(Capability.VOLUMES);
        String id = "contract-" + Long.toString(System.nanoTime(), 36);
        Volumes volumes = provider().volumes();
        volumes.make(id);
        Sandbox one = create(spec().withMounts(new Mount(id, "/mnt/shared")));
        Sandbox two = create(spec().withMounts(new Mount(id, "/srv/shared")));
        run(one, "echo treasure > /mnt/shared/file");
        assertThat(run(two, "cat /srv/shared/file; echo more >> /srv/shared/file")
                        .stdout())
                .isEqualTo("treasure\n");
        assertThat(run(one, "cat /mnt/shared/file").stdout()).isEqualTo("treasure\nmore\n");
        assertFails(ErrorCode.CONFLICT, () -> volumes.remove(id));
        one.stop();
        one.wake();
        assertThat(run(one, "cat /mnt/shared/file").stdout()).isEqualTo("treasure\nmore\n");
        one.destroy();
        two.destroy();
        try (InputStream kept = volumes.files(id).read("/file")) {
            assertThat(kept).hasContent("treasure\nmore\n");
        }
        volumes.remove(id);
        assertThat(volumes.exists(id)).isFalse();
        assertFails(ErrorCode.NOT_FOUND, () -> create(spec().withMounts(new Mount(id, "/mnt/shared"))));
    }

    @Test
    void keepsTheTreeOfCheckpoints() {
        needs(Capability.CHECKPOINT);
        Sandbox sandbox = create();
        Checkpoint one = sandbox.checkpoint("one");
        Checkpoint two = sandbox.checkpoint("two");
        sandbox.rollback(one.id());
        Checkpoint three = sandbox.checkpoint("three");
        assertThat(one.parent()).isEmpty();
        assertThat(two.parent()).contains(one.id());
        assertThat(three.parent()).contains(one.id());
        List.of(one, two, three).forEach(point -> provider().deleteCheckpoint(point.id()));
    }

    @Test
    void forksALiveSandbox() {
        needs(Capability.CHECKPOINT);
        Sandbox source = create(spec().withEnv(Map.of("FROM", "source")));
        run(source, "echo shared > file; echo 1 > own");
        List<Sandbox> forks = provider().fork(source, List.of(spec().id(), spec().id(), spec().id()));
        made.addAll(forks);
        assertThat(forks).hasSize(3);
        int i = 2;
        for (Sandbox fork : forks) {
            assertThat(run(fork, "cat file; echo $FROM; echo " + i++ + " > own").stdout())
                    .isEqualTo("shared\nsource\n");
        }
        assertThat(run(source, "cat own").stdout()).isEqualTo("1\n");
        assertThat(run(forks.get(1), "cat own").stdout()).isEqualTo("3\n");
    }

    @Test
    void tellsWhatChangedBetweenTwoPoints() {
        needs(Capability.CHANGES);
        Sandbox sandbox = create();
        run(sandbox, "mkdir dir gone; echo a > dir/same; echo b > dir/edit; touch gone/x; echo d > doomed");
        Checkpoint before = sandbox.checkpoint("before");
        run(sandbox, "echo longer > dir/edit; rm -r gone doomed; mkdir new; echo 12345 > new/file");
        assertThat(sandbox.changesSince(before.id()))
                .containsExactlyInAnyOrder(
                        new Change(Change.Kind.MODIFIED, "/home/user/dir/edit", 7),
                        new Change(Change.Kind.DELETED, "/home/user/gone", 0),
                        new Change(Change.Kind.DELETED, "/home/user/doomed", 0),
                        new Change(Change.Kind.CREATED, "/home/user/new", 0),
                        new Change(Change.Kind.CREATED, "/home/user/new/file", 6));
        Checkpoint after = sandbox.checkpoint("after");
        assertThat(provider().changes(before.id(), after.id())).hasSize(5);
        assertThat(provider().changes(after.id(), after.id())).isEmpty();
        provider().deleteCheckpoint(before.id());
        provider().deleteCheckpoint(after.id());
    }

    @Test
    void aForkCannotEscapeItsDiskLimit() {
        needs(Capability.CHECKPOINT);
        needs(Capability.DISK_LIMIT);
        Sandbox source = create(spec().withLimits(limits().withDisk(64 * MIB)));
        run(source, "head -c 40M /dev/urandom > big");
        List<Sandbox> forks = provider().fork(source, List.of(spec().id()));
        made.addAll(forks);
        assertThat(run(forks.getFirst(), "head -c 40M /dev/urandom > more").code())
                .isNotZero();
    }

    private static final String LOOK = """
            cd; cat file 'odd name'; stat -c '%n %a %u:%g %h %Y' dir dir/* script; readlink link; ls -A dir
            ls /etc/hostname .bashrc 2>&1 | grep -c 'cannot'; stat -c '%A %U' setuid
            """;

    @Test
    void whatIsPackedComesBackUnderTheSameId() throws IOException {
        needs(Capability.ARCHIVE);
        SandboxSpec spec = spec().withEnv(Map.of("WHO", "before"));
        Sandbox sandbox = create(spec);
        run(sandbox, """
                echo one > file; echo two > 'odd name'; mkdir -m 750 dir; echo 3 > dir/a; ln dir/a dir/b
                touch -d '2001-02-03 04:05:06' dir/a; ln -s /nowhere link; echo exit > script; chmod 711 script; rm .bashrc
                """);
        sandbox.run(Command.shell("cp /bin/true /home/user/setuid; chmod 4755 /home/user/setuid; rm /etc/hostname")
                .withUser("root"));
        String before = run(sandbox, LOOK).stdout();
        assertThat(before).contains("one\ntwo\n", "981173106", "/nowhere\n", "\n2\n-rwsr-xr-x root");
        sandbox.stop();
        Path packed = pack(sandbox);
        try {
            sandbox.destroy();
            Limits other = limits().withPids(123);
            Sandbox again = create(new SandboxSpec(
                    spec.id(),
                    Origin.packed(template(), packed),
                    other,
                    Network.NONE,
                    Map.of("WHO", "after"),
                    Map.of("a", "b")));
            assertThat(run(again, LOOK).stdout()).isEqualTo(before);
            assertThat(run(again, "echo $WHO; echo more >> file; cat file").stdout())
                    .isEqualTo("after\none\nmore\n");
            assertThat(again.limits()).isEqualTo(other);
            assertThat(again.info().labels()).containsEntry("a", "b");
            assertThat(provider().find(spec.id())).isPresent();
        } finally {
            Files.delete(packed);
        }
    }

    @Test
    void aPausedSandboxIsPackedAndGoesOn() throws Exception {
        needs(Capability.ARCHIVE);
        needs(Capability.PAUSE);
        Sandbox sandbox = create();
        run(sandbox, "echo one > file");
        try (RunningCommand command =
                sandbox.start(Command.shell("read x; echo woke $x").withStdin())) {
            sandbox.pause();
            Path packed = pack(sandbox);
            try {
                Sandbox twin = create(new SandboxSpec(
                        spec().id(), Origin.packed(template(), packed), limits(), Network.NONE, Map.of(), Map.of()));
                assertThat(run(twin, "cat file").stdout()).isEqualTo("one\n");
            } finally {
                Files.delete(packed);
            }
            assertThat(sandbox.state()).isEqualTo(SandboxState.PAUSED);
            sandbox.wake();
            command.stdin().write("up\n".getBytes(UTF_8));
            assertThat(text(command.stdout())).isEqualTo("woke up\n");
        }
    }

    @Test
    void packsNothingThatRuns() {
        needs(Capability.ARCHIVE);
        Sandbox sandbox = create();
        assertFails(ErrorCode.CONFLICT, () -> sandbox.pack(OutputStream.nullOutputStream()));
        assertThat(run(sandbox, "echo fine").stdout()).isEqualTo("fine\n");
        sandbox.destroy();
        assertFails(ErrorCode.GONE, () -> sandbox.pack(OutputStream.nullOutputStream()));
    }

    @Test
    void makesNothingOfWhatWasNotPacked() throws IOException {
        needs(Capability.ARCHIVE);
        Path nonsense = Files.createTempFile("nonsense", ".packed");
        try {
            Files.write(nonsense, new byte[100_000]);
            SandboxSpec spec = spec();
            SandboxSpec broken = new SandboxSpec(
                    spec.id(), Origin.packed(template(), nonsense), limits(), Network.NONE, Map.of(), Map.of());
            assertFails(ErrorCode.INVALID, () -> provider().create(broken));
            SandboxSpec unknown = new SandboxSpec(
                    spec.id(), Origin.packed("no-such-template", nonsense), limits(), Network.NONE, Map.of(), Map.of());
            assertFails(ErrorCode.NOT_FOUND, () -> provider().create(unknown));
            assertThat(provider().find(spec.id())).isEmpty();
            assertThat(run(create(spec), "echo fine").stdout()).isEqualTo("fine\n");
        } finally {
            Files.delete(nonsense);
        }
    }

    private static Path pack(Sandbox sandbox) throws IOException {
        Path packed = Files.createTempFile(sandbox.id().value(), ".packed");
        try (OutputStream target = Files.newOutputStream(packed)) {
            sandbox.pack(target);
        }
        return packed;
    }

    @Test
    void sandboxesDoNotSeeEachOther() {
        Sandbox one = create();
        Sandbox two = create();
        run(one, "echo secret > /tmp/mine");
        RunningCommand running = one.start(Command.of("sleep", "4321"));
        assertThat(run(two, "ls /tmp/mine 2>&1 | grep -c cannot; ps -eo args= | grep -c '[4]321'")
                        .stdout())
                .isEqualTo("1\n0\n");
        running.signal(Signal.KILL);
        assertThat(running.await().signal()).isEqualTo(9);
        assertThat(Set.of(one.id(), two.id())).hasSize(2);
    }
}
