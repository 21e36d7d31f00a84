package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TemplateFileTest {
    @Test
    void readsEveryInstruction() {
        assertThat(parse("""
                        # a comment
                        from base:3

                        package git  g++ python3=3.11.2-1+b1
                        copy "my app" /opt/app/
                        run echo "a  b" && true
                        env GREETING=hello = world
                        workdir /opt/app
                        user root
                        start python -m http.server 8000
                        """))
                .containsExactly(
                        new Instruction.FromTemplate(2, new TemplateName("base", OptionalInt.of(3))),
                        new Instruction.Packages(4, List.of("git", "g++", "python3=3.11.2-1+b1")),
                        new Instruction.Copy(5, "my app", "/opt/app/"),
                        new Instruction.Run(6, "echo \"a  b\" && true"),
                        new Instruction.Env(7, "GREETING", "hello = world"),
                        new Instruction.Workdir(8, "/opt/app"),
                        new Instruction.User(9, "root"),
                        new Instruction.Start(10, "python -m http.server 8000"));
    }

    @Test
    void takesADebianSuite() {
        assertThat(parse("from debian:trixie")).containsExactly(new Instruction.FromDebian(1, "trixie"));
    }

    @Test
    void joinsLinesThatEndWithABackslashAndCountsFromTheFirst() {
        assertThat(parse("from base\n\nrun a \\\n  # why b\n  && b \\\n\\\n  && c\nuser root"))
                .containsExactly(
                        new Instruction.FromTemplate(1, new TemplateName("base", OptionalInt.empty())),
                        new Instruction.Run(3, "a   && b   && c"),
                        new Instruction.User(8, "root"));
    }

    @Test
    void takesFilesWithTheLineEndsOfWindows() {
        assertThat(parse("from base\r\nrun a \\\r\n b\r\n").getLast()).isEqualTo(new Instruction.Run(2, "a  b"));
    }

    @Test
    void takesQuotesAroundAValueOff() {
        assertThat(parse("from base\nenv A=\" x \"\nenv B=").subList(1, 3))
                .containsExactly(new Instruction.Env(2, "A", " x "), new Instruction.Env(3, "B", ""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "pakage git | unknown instruction 'pakage'; the instructions are from, package, copy",
                "RUN true | unknown instruction 'RUN'; write 'run'",
                "cmd true | unknown instruction 'cmd'; write 'start'",
                "package | 'package' says nothing; write for example 'package git curl'",
                "run | 'run' says nothing",
                "copy a | 'copy' takes a source and a target",
                "copy a b c | 'copy' takes a source and a target",
                "copy a relative | the target of a copy has to be a whole path",
                "copy a /b/../c | the target of a copy has to be a whole path",
                "copy ../a /a | outside the template file's directory",
                "copy x/../../a /a | outside the template file's directory",
                "copy /etc/passwd /a | outside the template file's directory",
                "copy \"a /b | a '\"' is not closed",
                "copy \"\" /b | is an empty word",
                "package -o=x | is not the name of a Debian package",
                "package git- | is not the name of a Debian package",
                "package Git | is not the name of a Debian package",
                "env NAME | write 'env NAME=VALUE'",
                "env 1A=b | write 'env NAME=VALUE'",
                "env A B=c | write 'env NAME=VALUE'",
                "workdir | 'workdir' says nothing",
                "workdir tmp | the working directory has to be a whole path",
                "workdir /a /b | 'workdir' takes one word",
                "user Root! | is not the name of a user",
                "user | 'user' says nothing",
                "start | 'start' says nothing",
                "from base | 'from' can only be the first instruction",
                "run a \\ | ends with '\\' and no line follows",
            })
    void saysTheLineAndTheFixOfWhatIsWrong(String line, String message) {
        assertThatThrownBy(() -> parse("# one\nfrom base\n" + line))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID))
                .hasMessageStartingWith("test.template line 3: ")
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "from",
                "from a b",
                "from base:",
                "from base:x",
                "from base:0",
                "from base:-1",
                "from Base",
                "from ../base",
                "from debian",
                "from debian:",
                "from debian:Book worm",
                "from base:99999999999",
                "run true",
                "package git"
            })
    void wantsAFromThatMakesSenseFirst(String text) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(SandboxException.class)
                .hasMessageStartingWith("test.template line 1: ");
    }

    @Test
    void refusesAFileThatSaysNothingOrIsNoText() {
        assertThatThrownBy(() -> parse("# only this\n")).hasMessageContaining("has no instructions");
        assertThatThrownBy(() -> parse("from base\nrun \0")).hasMessageContaining("NUL");
    }

    @Test
    void refusesASecondStartAndMoreInstructionsThanAnOverlayHasRoomFor() {
        assertThatThrownBy(() -> parse("from base\nstart a\nstart b"))
                .hasMessageContaining("line 3: there is a 'start'");
        assertThatThrownBy(() -> parse("from base\n" + "run true\n".repeat(100)))
                .hasMessageContaining("at most 100 instructions");
    }

    @Test
    void saysWhenTheFileIsMissingHugeOrBinary(@TempDir Path dir) throws Exception {
        assertThatThrownBy(() -> TemplateFile.read(dir.resolve("none")))
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
        Path binary = Files.write(dir.resolve("binary"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        assertThatThrownBy(() -> TemplateFile.read(binary)).hasMessageContaining("not a text file");
        Path huge = Files.write(dir.resolve("huge"), new byte[(1 << 20) + 1]);
        assertThatThrownBy(() -> TemplateFile.read(huge)).hasMessageContaining("too large");
    }

    @Test
    void shipsBase() {
        assertThat(TemplateFile.shipped("base").orElseThrow().script(false).from())
                .isInstanceOf(Instruction.FromDebian.class);
        assertThat(TemplateFile.shipped("nothing-like-it")).isEmpty();
    }

    private static List<Instruction> parse(String text) {
        return TemplateFile.parse("test.template", text, Optional.empty()).instructions();
    }
}
