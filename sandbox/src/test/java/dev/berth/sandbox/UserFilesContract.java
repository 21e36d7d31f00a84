package dev.berth.sandbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a sandbox promises of its users and of what is theirs, and of what else is known of files. */
abstract class UserFilesContract extends OutletContract {
    private static InputStream bytes(String text) {
        return new ByteArrayInputStream(text.getBytes(UTF_8));
    }

    private static String text(InputStream stream) throws IOException {
        try (stream) {
            return new String(stream.readAllBytes(), UTF_8);
        }
    }

    private static String asRoot(Sandbox sandbox, String line) {
        Result result = sandbox.run(Command.shell(line).withUser("root"));
        assertThat(result.code()).as(result.stderr()).isZero();
        return result.stdout();
    }

    @Test
    void knowsItsUsersAsTheyAreNow() {
        Sandbox sandbox = create();
        assertThat(sandbox.defaultUser()).isEqualTo("user");
        assertThat(sandbox.account("user")).isEqualTo(new Account("user", 1000, 1000, "/home/user"));
        assertThat(sandbox.account("root")).isEqualTo(new Account("root", 0, 0, "/root"));
        assertThat(sandbox.account("1000").name()).isEqualTo("user");
        assertThat(sandbox.account("4321")).isEqualTo(new Account("4321", 4321, 4321, "/"));
        assertThat(sandbox.account("4321:17").gid()).isEqualTo(17);
        assertThat(sandbox.userName(1000)).contains("user");
        assertThat(sandbox.groupName(0)).contains("root");
        assertThat(sandbox.userName(4321)).isEmpty();
        assertThat(sandbox.groupName(4321)).isEmpty();
        for (String nobody : List.of("carol", "", "a b", "../x", "70000")) {
            assertFails(ErrorCode.INVALID, () -> sandbox.account(nobody));
            assertFails(ErrorCode.INVALID, () -> sandbox.files().as(nobody));
        }

        asRoot(sandbox, "echo carol:x:4321:4322::/srv/carol:/bin/sh >> /etc/passwd; echo crowd:x:4322: >> /etc/group");

        assertThat(sandbox.account("carol")).isEqualTo(new Account("carol", 4321, 4322, "/srv/carol"));
        assertThat(sandbox.userName(4321)).contains("carol");
        assertThat(sandbox.groupName(4322)).contains("crowd");
        sandbox.files().as("carol").write("deep/note", bytes("hers"));
        assertThat(asRoot(sandbox, "cd /srv; stat -c '%n %U %G %a' carol carol/deep carol/deep/note"))
                .isEqualTo("""
                        carol carol crowd 755
                        carol/deep carol crowd 755
                        carol/deep/note carol crowd 644
                        """);
        asRoot(sandbox, "sed -i s,/srv/carol,/srv/other, /etc/passwd");
        assertThat(sandbox.files().as("carol").named("x")).isEqualTo("/srv/other/x");
    }

    @Test
    void pathsOfAUserBeginAtTheirHome() throws IOException {
        Sandbox sandbox = create();
        SandboxFiles root = sandbox.files().as("root");
        assertThat(List.of("", "~", "~/", ".", "x", "~/x", "./x", "~//x/.", "/x", "~x", "./~").stream()
                        .map(root::named))
                .containsExactly(
                        "/root",
                        "/root",
                        "/root",
                        "/root",
                        "/root/x",
                        "/root/x",
                        "/root/x",
                        "/root/x",
                        "/x",
                        "/root/~x",
                        "/root/~");
        root.write("~/sub/file", bytes("x"));
        assertThat(root.list("", 1).stream().map(FileInfo::path)).contains("/root/sub");
        assertThat(text(sandbox.files().as("user").read("/root/sub/file"))).isEqualTo("x");
        assertThat(sandbox.files()
                        .as("root")
                        .within("sub")
                        .as("user")
                        .stat("file")
                        .path())
                .isEqualTo("file");
        sandbox.files().as("4321:17").write("/odd/file", bytes("x"));
        assertThat(asRoot(sandbox, "stat -c '%u %g' /odd /odd/file")).isEqualTo("4321 17\n4321 17\n");
    }

    @Test
    void whatAUserWritesBecomesTheirs() throws IOException {
        Sandbox sandbox = create();
        run(sandbox, "echo before > file; chmod 640 file; mkdir -p dir");
        SandboxFiles root = sandbox.files().as("root");
        root.write("/home/user/file", bytes("after"));
        assertThat(asRoot(sandbox, "cd /home/user; cat file; stat -c ' %U %G %a' file"))
                .isEqualTo("after root root 640\n");
        sandbox.files().write("file", bytes("again"));
        assertThat(asRoot(sandbox, "stat -c '%U %G %a' /home/user/file")).isEqualTo("root root 640\n");
        sandbox.files().as("user").write("file", bytes("mine"), 0600);
        assertThat(asRoot(sandbox, "stat -c '%U %G %a' /home/user/file")).isEqualTo("user user 600\n");
        assertThat(root.makeDirectory("/home/user/dir")).isFalse();
        assertThat(root.makeDirectory("/home/user/dir/a/b")).isTrue();
        root.append("/home/user/dir/log", bytes("x"));
        root.move("/home/user/file", "/home/user/dir/new/file");
        assertThat(asRoot(sandbox, "cd /home/user/dir; stat -c '%n %U' . a a/b log new new/file"))
                .isEqualTo(". user\na root\na/b root\nlog root\nnew root\nnew/file user\n");
        // What the user could not write herself.
        sandbox.files().as("user").write("/0/file", bytes("x"));
        assertThat(asRoot(sandbox, "stat -c %U /0 /0/file")).isEqualTo("user\nuser\n");
    }

    @Test
    void attributesAreThoseThatProgramsSee() {
        needs(Capability.ATTRIBUTES);
        Sandbox sandbox = create();
        SandboxFiles files = sandbox.files();
        files.write("file", bytes("x"));
        files.attributes("file", "e2b.", Map.of("e2b.one", "1"));
        assertThat(run(sandbox, "python3 -c 'import os; print(os.getxattr(\"file\", \"user.e2b.one\").decode())'")
                        .stdout())
                .isEqualTo("1\n");
        run(sandbox, "python3 -c 'import os; os.setxattr(\"file\", \"user.own\", b\"o\")'");
        assertThat(files.attributes("file")).isEqualTo(Map.of("e2b.one", "1", "own", "o"));
    }

    @Test
    void attributesAreReplacedByTheirPrefixAndStayWithTheFile() {
        SandboxFiles files = create().files();
        files.write("file", bytes("x"));
        assertThat(files.attributes("file")).isEmpty();
        files.attributes("file", "own", Map.of("own", "o"));
        files.attributes("file", "e2b.", Map.of("e2b.one", "1", "e2b.two", "zwei ü"));
        assertThat(files.attributes("file")).isEqualTo(Map.of("e2b.one", "1", "e2b.two", "zwei ü", "own", "o"));
        files.attributes("file", "e2b.", Map.of("e2b.two", ""));
        assertThat(files.attributes("file")).isEqualTo(Map.of("e2b.two", "", "own", "o"));
        files.write("file", bytes("another"));
        assertThat(files.attributes("file")).as("a new content keeps them").hasSize(2);
        files.move("file", "moved");
        files.attributes("moved", "", Map.of());
        assertThat(files.attributes("moved")).isEmpty();
        files.makeDirectory("dir");
        files.attributes("dir", "d", Map.of("d", "y"));
        assertThat(files.attributes("dir")).isEqualTo(Map.of("d", "y"));
        assertFails(ErrorCode.INVALID, () -> files.attributes("moved", "e2b.", Map.of("other", "x")));
        assertFails(ErrorCode.INVALID, () -> files.attributes("moved", "", Map.of("x".repeat(300), "x")));
        assertFails(ErrorCode.NOT_FOUND, () -> files.attributes("none"));
        assertFails(ErrorCode.NOT_FOUND, () -> files.attributes("none", "", Map.of("x", "x")));
    }

    @Test
    void tellsWhereLinksLead() {
        Sandbox sandbox = create();
        run(sandbox, "mkdir -p a/b; echo x > a/b/file; ln -s a/b dir; ln -s dir/file one; ln -s \"$PWD/one\" two");
        run(sandbox, "ln -s nowhere dangling; ln -s ../../../../../../../etc/passwd passwd; ln -s / top");
        SandboxFiles files = sandbox.files();
        FileInfo found = files.resolved("two");
        assertThat(found.path()).isEqualTo("/home/user/a/b/file");
        assertThat(found.type()).isEqualTo(FileInfo.Type.FILE);
        assertThat(found.size()).isEqualTo(2);
        assertThat(found.linkTarget()).isEmpty();
        assertThat(files.resolved("a/../dir/.").path()).isEqualTo("/home/user/a/b");
        assertThat(files.resolved("passwd").path()).isEqualTo("/etc/passwd");
        assertThat(files.resolved("top").path()).isEqualTo("/");
        assertThat(files.within("a").resolved("b/file").path()).isEqualTo("b/file");
        assertFails(ErrorCode.NOT_FOUND, () -> files.resolved("dangling"));
        assertFails(ErrorCode.NOT_FOUND, () -> files.resolved("none"));
    }

    @Test
    void aWatchTellsOfWhatIsWrittenFromOutsideAsOfAnyWrite() throws Exception {
        needs(Capability.WATCH);
        Sandbox sandbox = create();
        run(sandbox, "mkdir -p watched/sub; echo x > watched/old");
        SandboxFiles files = sandbox.files().as("root");
        BlockingQueue<FileEvent> events = new LinkedBlockingQueue<>();
        try (SandboxFiles.Watch _ = files.watch("/home/user/watched", true, events::add)) {
            files.write("/home/user/watched/old", bytes("y"));
            files.write("/home/user/watched/new", bytes("z"));
            files.write("/home/user/watched/late/er/file", bytes("z"));
            files.makeDirectory("/home/user/watched/made");
            files.move("/home/user/watched/new", "/home/user/watched/sub/newer");
            files.chmod("/home/user/watched/old", 0600);
            files.remove("/home/user/watched/old");
            files.write("/home/user/watched/end", bytes(""));
            List<String> seen = new ArrayList<>();
            while (!seen.contains("WRITTEN end")) {
                FileEvent event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                assertThat(event).as("after " + seen).isNotNull();
                seen.add(event.kind() + " " + event.path().substring("/home/user/watched/".length()));
            }
            assertThat(seen).noneMatch(event -> event.contains(".berth"));
            assertThat(seen.getFirst()).isEqualTo("WRITTEN old");
            assertThat(seen)
                    .containsSubsequence(
                            "CREATED new",
                            "WRITTEN new",
                            "CREATED late",
                            "CREATED made",
                            "RENAMED new",
                            "CREATED sub/newer",
                            "CHMOD old",
                            "REMOVED old",
                            "CREATED end",
                            "WRITTEN end")
                    .containsOnlyOnce("WRITTEN old", "CREATED late/er", "CREATED late/er/file", "CREATED sub/newer")
                    .doesNotContain("CREATED old");
        }
        assertFails(ErrorCode.INVALID, () -> files.watch("/home/user/watched/end", false, _ -> {}));
        assertFails(ErrorCode.NOT_FOUND, () -> files.watch("/home/user/none", false, _ -> {}));
    }
}
