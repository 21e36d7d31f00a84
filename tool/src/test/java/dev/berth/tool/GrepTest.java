package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Searching the contents of files. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class GrepTest {
    private static TestingWorkspace testing;
    private static Workspace workspace;

    @BeforeAll
    static void start() {
        testing = new TestingWorkspace(Map.of("RIPGREP_CONFIG_PATH", "/home/user/workspace/config"));
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

    private static Grep content(String pattern) {
        return Grep.of(pattern).showing(Grep.Mode.CONTENT);
    }

    private static Grep.Line line(String path, long number, String text) {
        return new Grep.Line(path, number, text, false);
    }

    @Test
    void findsFilesLinesAndCounts() {
        testing.put("a.txt", "one\ntwo\none more\r\n");
        testing.put("sub/b.txt", "none\nOne\n");
        testing.put("c.txt", "nothing\n");

        assertThat(Grep.of("one").run(workspace).files()).containsExactly("a.txt", "sub/b.txt");
        assertThat(content("^one").run(workspace).matches())
                .containsExactly(line("a.txt", 1, "one"), line("a.txt", 3, "one more"));
        assertThat(Grep.of("one").showing(Grep.Mode.COUNT).run(workspace).counts())
                .isEqualTo(Map.of("a.txt", 2L, "sub/b.txt", 1L));
        assertThat(content("one").in("sub").run(workspace).matches()).containsExactly(line("sub/b.txt", 1, "none"));
        assertThat(content("one").in("a.txt").run(workspace).matches()).hasSize(2);
        assertThat(content("one").run(workspace).text(true))
                .isEqualTo("a.txt:1:one\na.txt:3:one more\nsub/b.txt:1:none\n");
        assertThat(content("one").run(workspace).text(false)).startsWith("a.txt:one\n");
    }

    @Test
    void knowsTheOptions() {
        testing.put("a.py", "x = (1)\nY = 2\nend\n");
        testing.put("b.js", "x = (1)\n");

        var all = new Grep("X = (1)", ".", Optional.of("*.py"), Grep.Mode.CONTENT, true, 0, 0, 10, 0, true, false);
        var several =
                new Grep("\\(1\\).*end", ".", Optional.empty(), Grep.Mode.CONTENT, false, 0, 0, 10, 0, false, true);

        assertThat(all.run(workspace).matches()).containsExactly(line("a.py", 1, "x = (1)"));
        assertThat(several.run(workspace).matches()).extracting(Grep.Line::line).containsExactly(1L, 2L, 3L);
    }

    @Test
    void nothingFoundIsNoError() {
        testing.put("a", "x\n");

        Grep.Found found = Grep.of("missing").run(workspace);

        assertThat(found.files()).isEmpty();
        assertThat(found.truncated()).isFalse();
        assertThat(found.text(true)).isEqualTo("No matches found\n");
    }

    @Test
    void aPatternIsNeverAnOptionOrAShellCommand() {
        testing.put("a", "--files $(touch pwned) `id` ; rm -rf *\n");
        testing.put("-rf", "x\n");

        for (String pattern : List.of("--files", "$(touch pwned)", "`id`", "; rm -rf *")) {
            var grep = new Grep(
                    pattern, ".", Optional.empty(), Grep.Mode.FILES_WITH_MATCHES, false, 0, 0, 10, 0, true, false);
            assertThat(grep.run(workspace).files()).as(pattern).containsExactly("a");
        }
        assertThat(content("x").in("-rf").run(workspace).matches()).containsExactly(line("-rf", 1, "x"));
        assertThat(workspace.files().exists("pwned")).isFalse();
    }

    @Test
    void pagesThroughResultsInAStableOrder() {
        testing.sh("for f in a b c; do for i in $(seq 1 50); do echo \"hit $i\"; echo miss; done > $f; done");

        Grep.Found first = content("hit").page(0, 60).run(workspace);
        Grep.Found last =
                content("hit").page(first.nextOffset().orElseThrow(), 100).run(workspace);
        Grep.Found files = Grep.of("hit").page(1, 1).run(workspace);

        assertThat(first.matches()).hasSize(60);
        assertThat(first.truncated()).isTrue();
        assertThat(last.matches())
                .hasSize(90)
                .startsWith(line("b", 21, "hit 11"))
                .endsWith(line("c", 99, "hit 50"));
        assertThat(last.nextOffset()).isEmpty();
        assertThat(files.files()).containsExactly("b");
        assertThat(files.nextOffset()).hasValue(2);
        assertThat(Grep.of("hit").page(2, 1).run(workspace).nextOffset()).isEmpty();
        assertThat(Grep.of("hit").page(Integer.MAX_VALUE, 10_000).run(workspace).files())
                .isEmpty();
    }

    @Test
    void showsContextOnlyOfTheMatchesOfThePage() {
        testing.sh("seq 1 100 > numbers");

        var grep = new Grep("^(20|22|40)$", ".", Optional.empty(), Grep.Mode.CONTENT, false, 2, 1, 1, 1, false, false);
        Grep.Found found = grep.run(workspace);

        assertThat(found.matches()).extracting(Grep.Line::line).containsExactly(21L, 22L, 23L);
        assertThat(found.matches()).extracting(Grep.Line::context).containsExactly(true, false, true);
        assertThat(found.nextOffset()).hasValue(2);
        assertThat(found.text(true)).startsWith("numbers-21-21\nnumbers:22:22\n");
    }

    @Test
    void cutsLongLinesAndStopsAnEndlessSearch() {
        testing.sh("{ head -c 20000000 /dev/zero | tr '\\0' x; echo; } > long; yes hit | head -c 200000000 > many");

        assertThat(content("xxx").run(workspace).matches())
                .singleElement()
                .satisfies(match -> assertThat(match.text()).hasSizeLessThan(2100));
        Grep.Found some = content("hit").page(0, 10).run(workspace);
        assertThat(some.matches()).hasSize(10);
        assertThat(some.truncated()).isTrue();
        assertThat(testing.sandbox().commands()).isEmpty();
    }

    @Test
    void aBadPatternIsExplained() {
        testing.put("a", "x\n");

        assertThat(assertFails(ErrorCode.INVALID, () -> Grep.of("(").run(workspace)))
                .hasMessageContaining("unclosed group");
        var badGlob = new Grep("x", ".", Optional.of("{a"), Grep.Mode.CONTENT, false, 0, 0, 1, 0, false, false);
        assertThat(assertFails(ErrorCode.INVALID, () -> badGlob.run(workspace))).hasMessageContaining("glob");
        assertFails(ErrorCode.INVALID, () -> Grep.of(""));
        assertFails(ErrorCode.INVALID, () -> Grep.of("a\0"));
        assertFails(ErrorCode.INVALID, () -> Grep.of("a").page(-1, 1));
        assertFails(ErrorCode.INVALID, () -> Grep.of("a").page(0, 0));
    }

    @Test
    void odderNamesBinariesAndUnreadableFilesDoNoHarm() {
        testing.sh("""
                echo hit > $'new\\nline:3:x'; echo hit > 'a:b'; printf 'hit\\0' > binary; printf 'hit\\n\\0\\nhit\\n' > zbin
                printf 'h\\xefit hit\\n' > latin1; echo hit > secret; chmod 0 secret; ln -s /etc etc; ln -s a:b link
                """);

        assertThat(content("hit").run(workspace).matches())
                .contains(line("new\nline:3:x", 1, "hit"), line("a:b", 1, "hit"), line("latin1", 1, "h\uFFFDit hit"))
                .extracting(Grep.Line::path)
                .doesNotContain("secret", "link");
        assertThat(content("hit").in("binary").run(workspace).matches()).isEmpty();
        assertThat(Grep.of("root:").run(workspace).files()).isEmpty();
    }

    @Test
    void thePathMayNotLeaveTheWorkspace() {
        testing.sh("ln -s /etc etc; ln -s /etc/passwd passwd; ln -s ../.profile up");

        for (String path : List.of("/etc", "..", "etc", "passwd", "up", "etc/passwd", "a/../..")) {
            assertFails(ErrorCode.DENIED, () -> Grep.of("root").in(path).run(workspace));
        }
        assertFails(ErrorCode.NOT_FOUND, () -> Grep.of("root").in("missing").run(workspace));
    }

    @Test
    void aConfigurationInTheSandboxChangesNothing() {
        testing.put("config", "--invert-match\n");
        testing.put("a", "x\n");

        assertThat(testing.sh("rg --files-with-matches x config a || true"))
                .as("the configuration is one")
                .isEqualTo("config\n");
        assertThat(Grep.of("^x").run(workspace).files()).containsExactly("a");
    }

    @Test
    void honoursWhatIsToBeIgnored() {
        testing.put("a", "x\n");
        testing.put(".hidden", "x\n");
        testing.put(".ignore", "a\n");

        assertThat(Grep.of("x").run(workspace).files()).isEmpty();
    }

    @Test
    void endsWhenItsTimeIsOver() {
        testing.sh("truncate -s 6G big");
        var grep = new Grep("x.*y.*z$", "big", Optional.empty(), Grep.Mode.COUNT, false, 0, 0, 10, 0, false, false);

        assertFails(ErrorCode.TIMEOUT, () -> grep.run(workspace, Duration.ofMillis(50)));
        assertThat(testing.sandbox().commands()).isEmpty();
    }

    @Test
    void withoutRipgrepItSaysThatTryingAgainDoesNotHelp() throws IOException {
        try (TestingWorkspace other = new TestingWorkspace(Map.of("PATH", "/opt/without"))) {
            assertThat(assertFails(ErrorCode.UNSUPPORTED, () -> Grep.of("x").run(other.workspace())))
                    .hasMessageContaining("template 'base'")
                    .hasMessageContaining("does not help");
        }
    }
}
