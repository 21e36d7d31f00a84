package dev.berth.tool;

import static dev.berth.tool.TestingWorkspace.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Replacing a piece of a file. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class EditTest {
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

    private static Edit.Edited edit(String oldString, String newString) {
        return new Edit("file", oldString, newString, false).run(workspace);
    }

    private static SandboxException refused(ErrorCode code, String oldString, String newString) {
        return assertFails(code, () -> edit(oldString, newString));
    }

    @Test
    void replacesTheOnePlaceAndShowsIt() {
        testing.put("file", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");

        Edit.Edited edited = edit("5\n", "five\nfünf\n");

        assertThat(testing.get("file")).isEqualTo("1\n2\n3\n4\nfive\nfünf\n6\n7\n8\n9\n");
        assertThat(edited.replacements()).isEqualTo(1);
        assertThat(edited.snippet()).isEqualTo("""
                @@ -2,7 +2,8 @@
                 2
                 3
                 4
                -5
                +five
                +fünf
                 6
                 7
                 8
                """);
    }

    @Test
    void takesBothTextsLiterally() {
        testing.put("file", "price: (.*)$1\\n & $&");

        edit("(.*)$1\\n", "$& $1 $$ \\0 [");

        assertThat(testing.get("file")).isEqualTo("price: $& $1 $$ \\0 [ & $&");
    }

    @Test
    void replacesAllPlacesIfAsked() {
        testing.put("file", "aXaXaa");

        assertThat(new Edit("file", "a", "bb", true).run(workspace).replacements())
                .isEqualTo(4);
        assertThat(testing.get("file")).isEqualTo("bbXbbXbbbb");
        assertThat(new Edit("file", "bb", "", true).run(workspace).replacements())
                .isEqualTo(4);
        assertThat(testing.get("file")).isEqualTo("XX");
    }

    @Test
    void refusesAPlaceThatIsNotTheOnlyOne() {
        testing.put("file", "a\nb\na\nc\na\n");

        assertThat(refused(ErrorCode.CONFLICT, "a\n", "x\n"))
                .hasMessageContaining("3 times, at lines 1, 3, 5")
                .hasMessageContaining("replace_all");
        assertThat(testing.get("file")).isEqualTo("a\nb\na\nc\na\n");
    }

    @Test
    void refusesAnEmptyOrTheSameText() {
        assertThat(refused(ErrorCode.INVALID, "", "x")).hasMessageContaining("old_string is empty");
        assertThat(refused(ErrorCode.INVALID, "x", "x")).hasMessageContaining("are the same");
        assertFails(ErrorCode.INVALID, () -> new Edit(".", "a", "b", false));
        assertThat(refused(ErrorCode.NOT_FOUND, "a", "b")).hasMessageContaining("no such file");
    }

    @Test
    void saysWhyATextIsNotFound() {
        testing.put("file", "if (a) {\n\treturn b;\n}\n");

        assertThat(refused(ErrorCode.CONFLICT, "if (a) {\n    return b;\n}", "x"))
                .hasMessageContaining("other white space")
                .hasMessageContaining("at line 1:");
        assertThat(refused(ErrorCode.CONFLICT, "     2\t\treturn b;", "x")).hasMessageContaining("line numbers");
        SandboxException other = refused(ErrorCode.CONFLICT, "something else", "x");
        assertThat(other).hasMessageContaining("read the file again");
        assertThat(other.details()).containsEntry(Edit.REASON, "old_string_not_found");
        assertThat(refused(ErrorCode.CONFLICT, " \n ", "x")).hasMessageContaining("read the file again");
    }

    @Test
    void keepsCarriageReturnsThatTheModelDoesNotWrite() {
        testing.put("file", "one\r\ntwo\r\nthree\r\n");

        edit("one\ntwo", "eins\nzwei\nzweieinhalb");
        assertThat(testing.get("file")).isEqualTo("eins\r\nzwei\r\nzweieinhalb\r\nthree\r\n");
        edit("three", "drei\nvier");
        assertThat(testing.get("file")).isEqualTo("eins\r\nzwei\r\nzweieinhalb\r\ndrei\r\nvier\r\n");
        edit("\nzwei\n", "\n");
        assertThat(testing.get("file")).isEqualTo("eins\r\nzweieinhalb\r\ndrei\r\nvier\r\n");
    }

    @Test
    void inAFileOfBothLineEndsEachPlaceKeepsItsOwn() {
        testing.put("file", "a\r\nb\nc\r\nb\r\n");

        new Edit("file", "b\n", "x\ny\n", true).run(workspace);

        assertThat(testing.get("file")).isEqualTo("a\r\nx\ny\nc\r\nx\r\ny\r\n");
    }

    @Test
    void carriageReturnsThatTheModelWritesAreMeant() {
        testing.put("file", "a\r\nb\r\n");

        edit("a\r\nb\r\n", "a\nb\n");

        assertThat(testing.get("file")).isEqualTo("a\nb\n");
    }

    @Test
    void keepsModeAndOwnerAndWhatIsNotUtf8() {
        testing.put("file", "Gr\u00fc\u00dfe, dies ist ein l\u00e4ngerer Satz\n".getBytes(StandardCharsets.ISO_8859_1));
        testing.sh("chmod 751 file");
        workspace.files().chown("file", 0, 0);

        edit("dies", "das");

        assertThat(testing.sh("stat -c '%a %u' file")).isEqualTo("751 0\n");
        assertThat(BinaryRead.of("file").run(workspace).bytes())
                .isEqualTo("Grüße, das ist ein längerer Satz\n".getBytes(StandardCharsets.ISO_8859_1));
    }

    @Test
    void refusesWhatIsNoText() {
        testing.put("file", "a\0b");
        assertFails(ErrorCode.INVALID, () -> edit("a", "b"));
        testing.put("file", "a\n".getBytes(StandardCharsets.UTF_16));
        assertFails(ErrorCode.INVALID, () -> edit("a", "b"));
        testing.sh("head -c 60000000 /dev/zero | tr '\\0' x > file");
        assertFails(ErrorCode.LIMIT, () -> edit("xx", "b"));
        testing.sh("rm file; mkdir file");
        assertThat(refused(ErrorCode.INVALID, "a", "b")).hasMessageContaining("use glob");
        testing.sh("rmdir file; ln -s ../.profile file");
        assertFails(ErrorCode.DENIED, () -> edit("a", "b"));
    }

    @Test
    void noTextTakesLong() {
        testing.put("file", "a".repeat(20_000_000) + "b");

        refused(ErrorCode.CONFLICT, "a".repeat(100_000) + "c", "x");
        edit("a".repeat(1_000_000) + "b", "x");
        assertFails(ErrorCode.LIMIT, () -> new Edit("file", "a", "y".repeat(10_000), true).run(workspace));

        assertThat(workspace.files().stat("file").size()).isEqualTo(19_000_001);
    }

    @Test
    void editsOfOneFileAtATimeAllCount() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            text.append("<").append(i).append(">\n");
        }
        testing.put("file", text.toString());
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 100; i++) {
                int number = i;
                var _ = threads.submit(() -> edit("<" + number + ">", "done"));
            }
        }

        assertThat(testing.get("file")).isEqualTo("done\n".repeat(100));
    }
}
