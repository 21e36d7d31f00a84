package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.RemoteCli.Ran;
import dev.berth.client.Json;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The commands for secrets, as processes of their own, against a server that is one too. Needs root and crun. */
@Timeout(300)
class SecretCommandsTest {
    private static RemoteCli cli;

    @BeforeAll
    static void start() throws Exception {
        cli = new RemoteCli(Map.of("BERTH_EGRESS_PLAIN_SECRETS", "plain.example"));
    }

    @AfterAll
    static void stop() throws IOException {
        cli.close();
    }

    private static Ran refused(String line, String why) throws Exception {
        Ran ran = cli.run(line);
        assertThat(ran.code()).as(line + ran).isEqualTo(2);
        assertThat(ran.err()).contains(why).hasLineCount(1);
        return ran;
    }

    private static Json set(String line) throws Exception {
        return Json.parse(cli.out(line + " --json"));
    }

    @Test
    void aValueOnTheCommandLineIsRefusedAndNotRepeated() throws Exception {
        for (String line : new String[] {"berth secret set ARG sk-real", "berth secret set ARG=sk-real"}) {
            assertThat(refused(line, "can be seen by others").toString()).doesNotContain("sk-real");
        }
        assertThat(cli.out("berth secret ls")).doesNotContain("ARG");
    }

    @Test
    void aValueIsReadFromAPipeOrAFileWithoutTheLineEnd() throws Exception {
        for (String end : new String[] {"", "\\n", "\\r\\n"}) {
            assertThat(cli.out("printf 'sk-real" + end + "' | berth secret set PIPED --host api.example"))
                    .isEqualTo("PIPED");
        }
        assertThat(cli.out("echo sk-real > file; berth secret set FILED --from-file file --host api.example"))
                .isEqualTo("FILED");
        refused("printf 'a\\nb\\n' | berth secret set PIPED", "must not have line ends");
        refused("berth secret set PIPED < /dev/null", "the value is empty");
        assertThat(cli.run("berth secret set PIPED --from-file nothing").code()).isEqualTo(66);
    }

    @Test
    void aValueIsTypedWithoutBeingShown() throws Exception {
        Process process =
                cli.start(new ProcessBuilder("script", "-qec", "berth secret set TYPED --host api.example", "/dev/null")
                        .redirectErrorStream(true));
        StringBuilder shown = new StringBuilder();
        try (Reader out = process.inputReader()) {
            for (int c = out.read(); c >= 0; c = out.read()) {
                shown.append((char) c);
                if (shown.toString().endsWith("(not shown): ")) {
                    process.outputWriter().append("sk-typed-one\n").flush();
                }
            }
        }
        assertThat(process.waitFor()).as(shown.toString()).isZero();
        assertThat(shown.toString()).contains("Value of TYPED", "TYPED\r\n").doesNotContain("sk-typed-one");
        assertThat(cli.out("berth secret ls")).contains("TYPED");
    }

    @Test
    void optionsBecomeBindings() throws Exception {
        Json header =
                set("echo v | berth secret set HEADER --host a.example --host '*.b.example' --header 'X-Key: k {}'"
                        + " --method GET --method POST --path '/v1/*' --port 8443 --env X_KEY --prefix k-");
        assertThat(header.get("env").text()).isEqualTo("X_KEY");
        assertThat(header.get("prefix").text()).isEqualTo("k-");
        assertThat(header.get("bindings").items()).singleElement().hasToString("""
                {"hosts":["a.example","*.b.example"],"ports":[8443],"methods":["GET","POST"],"paths":["/v1/*"],\
                "header":{"name":"X-Key","value":"k {}"},"plain":false}""");
        assertThat(set("echo v | berth secret set BASIC --host plain.example --basic me --plain")
                        .toString())
                .contains("\"basic\":{\"user\":\"me\"}", "\"plain\":true");
        assertThat(set("echo v | berth secret set GIT --for github")
                        .get("bindings")
                        .items())
                .hasSize(2);
        assertThat(set("berth secret set GIT --keep-value --host git.example")
                        .get("bindings")
                        .toString())
                .contains("git.example")
                .doesNotContain("github.com");
    }

    @Test
    void whatDoesNotGoTogetherIsRefused() throws Exception {
        refused("echo v | berth secret set X --header 'A: {}'", "--host");
        refused("echo v | berth secret set X --for github --host a.example", "--for");
        refused("echo v | berth secret set X --for gitlab", "anthropic, openai, github");
        refused("echo v | berth secret set X --host a.example --header none", "'Authorization: Bearer {}'");
        refused("echo v | berth secret set X --host a.example --basic a --query b", "take one of");
        refused("echo v | berth secret set X --host other.example --plain", "egress.plain-secrets");
        refused("berth secret set X --keep-value --from-file f --host a.example", "do not go together");
        assertThat(cli.run("berth secret set NOBODYS --keep-value --host a.example")
                        .code())
                .isEqualTo(66);
        assertThat(cli.run("berth secret rm NOBODYS").code()).isEqualTo(66);
    }

    @Test
    void theOperatorSetsThoseOfATenant() throws Exception {
        assertThat(cli.out("echo v | berth secret set THEIRS --tenant default --host a.example"))
                .isEqualTo("THEIRS");
        assertThat(cli.out("berth secret ls")).contains("THEIRS");
    }

    @Test
    void aNewKeyForSealingTakesThePlaceOfTheOldOne() throws Exception {
        Path file = cli.directory().resolve("data/keys/sealing");
        cli.out("echo v | berth secret set SEALED --host a.example");
        String before = Files.readString(file);
        assertThat(cli.out("berth secret rotate")).matches("sealed anew: [1-9][0-9]*");
        assertThat(Files.readString(file)).isNotEqualTo(before).hasLineCount(1);
        assertThat(set("berth secret set SEALED --keep-value --prefix p-")
                        .get("prefix")
                        .text())
                .isEqualTo("p-");
    }

    @Test
    void withoutAServerNothingIsRotated() throws Exception {
        Path data = cli.directory().resolve("elsewhere");
        Files.createDirectories(data.resolve("keys"));
        Files.writeString(data.resolve("keys/sealing"), "aa".repeat(32));
        Files.writeString(data.resolve("keys/admin"), "berth_" + "0".repeat(48));
        assertThat(cli.run("berth secret rotate --data " + data).code()).isEqualTo(66);
        Files.writeString(data.resolve("keys/url"), "http://127.0.0.1:1");
        assertThat(cli.run("berth secret rotate --data " + data).code()).isEqualTo(69);
        assertThat(Files.readString(data.resolve("keys/sealing"))).isEqualTo("aa".repeat(32));
    }
}
