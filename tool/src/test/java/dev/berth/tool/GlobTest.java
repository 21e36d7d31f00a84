package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Finding files by their paths. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class GlobTest {
    private static TestingWorkspace testing;
    private static Workspace workspace;

    @BeforeAll
    static void start() {
        testing = new TestingWorkspace();
        workspace = testing.workspace();
    }

    @AfterEach
    void clear() {
        testing.clear();
    }

    @AfterAll
    static void stop() throws IOException {
        testing.close();
    }

    private static List<String> glob(String pattern, String path, boolean hidden, String... exclude) {
        return paths(new Glob(pattern, path, List.of(exclude), hidden, 10_000, 0, Glob.Sort.PATH).run(workspace));
    }

    private static List<String> glob(String pattern) {
        return glob(pattern, ".", false);
    }

    private static List<String> paths(Glob.Found found) {
        return found.files().stream().map(Glob.Match::path).toList();
    }

    @Test
    void knowsStarsBracesAndClasses() {
        testing.sh(
                "mkdir -p src/main src/test docs; touch a.py b.py c1.txt src/x.py src/main/y.py src/main/y.ts src/test/z.py docs/d.md 'odd[1].md'");

        assertThat(glob("*.py")).containsExactly("a.py", "b.py");
        assertThat(glob("**/*.py")).containsExactly("a.py", "b.py", "src/main/y.py", "src/test/z.py", "src/x.py");
        assertThat(glob("src/**/*.py")).containsExactly("src/main/y.py", "src/test/z.py", "src/x.py");
        assertThat(glob("src/*/?.py")).containsExactly("src/main/y.py", "src/test/z.py");
        assertThat(glob("**/*.{ts,md}")).containsExactly("docs/d.md", "odd[1].md", "src/main/y.ts");
        assertThat(glob("{src/{main,test},docs}/*.{py,md}"))
                .containsExactly("docs/d.md", "src/main/y.py", "src/test/z.py");
        assertThat(glob("[a-b].py")).containsExactly("a.py", "b.py");
        assertThat(glob("[!a]*.*")).containsExactly("b.py", "c1.txt", "odd[1].md");
        assertThat(glob("odd\\[1\\].md")).containsExactly("odd[1].md");
        assertThat(glob("src/**")).containsExactly("src/main/y.py", "src/main/y.ts", "src/test/z.py", "src/x.py");
        assertThat(glob("**/main/**")).containsExactly("src/main/y.py", "src/main/y.ts");
        assertThat(glob("./src//x.py")).containsExactly("src/x.py");
        assertThat(glob("src")).isEmpty();
        assertThat(glob("*.py", "src", false)).containsExactly("src/x.py");
    }

    @Test
    void leavesOutHiddenAndExcludedFilesAndLinks() {
        testing.sh("""
                mkdir -p .git node_modules/m a/node_modules a/b
                touch .env .git/config node_modules/m/i.js a/node_modules/j.js a/b/k.js a/l.js m.js
                ln -s m.js link.js; ln -s /etc out; ln -s a again; mkfifo pipe.js
                """);

        assertThat(glob("**"))
                .doesNotContain(".env", ".git/config", "link.js", "pipe.js")
                .contains("m.js");
        assertThat(glob("**", ".", true)).contains(".env", ".git/config");
        assertThat(glob(".*")).containsExactly(".env");
        assertThat(glob(".git/*")).containsExactly(".git/config");
        assertThat(glob("**/*.js", ".", false, "node_modules")).containsExactly("a/b/k.js", "a/l.js", "m.js");
        assertThat(glob("**/*.js", ".", false, "node_modules/**", "a/b/"))
                .doesNotContain("node_modules/m/i.js", "a/b/k.js");
        assertThat(glob("**/*.js", ".", false, "a/**", "node_modules/m")).containsExactly("m.js");
        assertThat(glob("out/*")).isEmpty();
        assertThat(glob("again/*.js")).isEmpty();
        assertThat(glob("*.js", "again", false)).containsExactly("again/l.js");
        assertFails(ErrorCode.DENIED, () -> glob("*", "out", false));
    }

    @Test
    void showsTheNewestFirstAndGoesOnAtAnOffset() {
        testing.sh("for i in $(seq 1 250); do touch -d @$((1700000000 + i)) f$i; done");

        Glob.Found first = Glob.of("f*").run(workspace);
        Glob.Found last = new Glob("f*", ".", List.of(), false, 100, 200, Glob.Sort.MTIME).run(workspace);

        assertThat(paths(first)).hasSize(100).startsWith("f250", "f249");
        assertThat(first.nextOffset()).hasValue(100);
        assertThat(first.total()).isEqualTo(250);
        assertThat(paths(last)).hasSize(50).endsWith("f2", "f1");
        assertThat(last.nextOffset()).isEmpty();
        assertThat(last.truncated()).isFalse();
        assertThat(new Glob("f*", ".", List.of(), false, 5, Integer.MAX_VALUE, Glob.Sort.PATH)
                        .run(workspace)
                        .files())
                .isEmpty();
    }

    @Test
    void findsItsWayInAHugeDirectory() {
        testing.sh("mkdir huge; cd huge; seq -f 'file-%05g.txt' 1 20000 | xargs touch");

        Glob.Found found = Glob.of("**/file-1999?.txt").run(workspace);

        assertThat(found.total()).isEqualTo(10);
        assertThat(Glob.of("huge/*").run(workspace).total()).isEqualTo(20_000);
    }

    @Test
    void namesOfAnyKindAreFound() {
        testing.sh("touch -- 'with space' $'new\\nline' 'ünï𝄞' \"quote'\\\"\" '-rf' '$(id)'");

        assertThat(glob("*")).hasSize(6).contains("new\nline", "ünï𝄞", "-rf", "$(id)");
        assertThat(glob("ün??")).containsExactly("ünï𝄞");
    }

    @Test
    @Timeout(60)
    void noPatternTakesLong() {
        String name = "a".repeat(250);
        testing.put(name, "");

        assertThat(glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b")).isEmpty();
        assertThat(glob("*a".repeat(400) + "b")).isEmpty();
        assertThat(glob("**/".repeat(300) + "b")).isEmpty();
        assertThat(glob("a*".repeat(200))).containsExactly(name);
        assertFails(ErrorCode.INVALID, () -> glob("{a,b}".repeat(20)));
        assertFails(ErrorCode.INVALID, () -> glob("{".repeat(500)));
        assertFails(ErrorCode.INVALID, () -> glob("a/*/".repeat(200)));
    }

    @Test
    void patternsThatMakeNoSenseAreRefused() {
        assertFails(ErrorCode.INVALID, () -> glob(""));
        assertFails(ErrorCode.INVALID, () -> glob("{a,b"));
        assertFails(ErrorCode.INVALID, () -> glob("a".repeat(1001)));
        assertFails(ErrorCode.DENIED, () -> glob("/etc/*"));
        assertFails(ErrorCode.DENIED, () -> glob("../*"));
        assertFails(ErrorCode.DENIED, () -> glob("{a,..}/*"));
        assertFails(ErrorCode.NOT_FOUND, () -> glob("*", "missing", false));
        assertFails(ErrorCode.INVALID, () -> new Glob("*", ".", List.of(), false, 0, 0, Glob.Sort.PATH));
        assertFails(ErrorCode.INVALID, () -> new Glob("*", ".", List.of(), false, 10_001, 0, Glob.Sort.PATH));
        for (String odd : List.of("[", "[]", "[!]", "a[", "\\", "[z-a]", "}", ",", "[]a]", "{}", "{,}")) {
            assertThatCode(() -> glob(odd)).as(odd).doesNotThrowAnyException();
        }
    }

    @Test
    void aDirectoryThatIsSwappedWithALinkIsNotLeft() throws Exception {
        testing.sh("mkdir d; touch d/inside; ln -s /etc out");
        try (var _ = testing.swapping("d", "out")) {
            List<String> all = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                all.addAll(glob("**"));
            }
            assertThat(all).allMatch(path -> path.endsWith("/inside"));
        }
    }
}
