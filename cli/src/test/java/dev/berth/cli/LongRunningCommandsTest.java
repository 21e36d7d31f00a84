package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.RemoteCli.Ran;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Commands about what goes on for long, as processes of their own, against a server that is one too. Needs root and crun. */
@Timeout(300)
class LongRunningCommandsTest {
    private static RemoteCli cli;

    @BeforeAll
    static void start() throws Exception {
        cli = new RemoteCli(Map.of());
    }

    @AfterAll
    static void stop() throws IOException {
        cli.close();
    }

    @Test
    void aJobIsFollowedToItsEndWithEveryByteOnce() throws Exception {
        String job = cli.out("berth exec --background follow 'until [ -e go ]; do sleep 0.1; done;"
                + " for i in $(seq 300); do echo line $i; done; echo oops >&2; sleep 0.5; echo last; exit 4'");
        assertThat(job).startsWith("job_");
        assertThat(cli.out("berth jobs follow")).contains(job).contains("running");
        Path err = cli.directory().resolve("follow.err");
        Process follower = cli.start(cli.berth("logs", "-f", job).redirectError(err.toFile()));
        cli.out("berth exec follow 'touch go'");
        String out = new String(follower.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(follower.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(out)
                .isEqualTo(IntStream.rangeClosed(1, 300)
                        .mapToObj(i -> "line " + i + "\n")
                        .collect(Collectors.joining("", "", "last\n")));
        assertThat(Files.readString(err)).isEqualTo("oops\n");
        assertThat(follower.exitValue()).isEqualTo(4);

        assertThat(cli.run("berth logs " + job)).isEqualTo(new Ran(0, out, "oops\n"));
        assertThat(cli.run("berth logs -f " + job)).isEqualTo(new Ran(4, out, "oops\n"));
        assertThat(cli.out("berth logs --json " + job)).contains("\"complete\":true", "\"text\":\"oops\\n\"");
        assertThat(cli.out("berth jobs --state failed --json"))
                .contains(job)
                .contains("\"exit_code\":4")
                .doesNotContain("running");
        cli.out("berth session rm follow");
    }

    @Test
    void aJobIsStoppedWhileItIsFollowed() throws Exception {
        String job = cli.out("berth exec --background endless 'echo begun; sleep 1000'");
        Process follower = cli.start(cli.berth("logs", "-f", job));
        try (BufferedReader out = follower.inputReader()) {
            assertThat(out.readLine()).isEqualTo("begun");
            assertThat(cli.out("berth job stop " + job)).isEqualTo(job);
            assertThat(out.readLine()).isNull();
        }
        assertThat(follower.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(follower.exitValue()).isEqualTo(143);
        assertThat(cli.out("berth jobs endless")).contains("stopped");
        Ran ran = cli.run("berth job stop job_nobody");
        assertThat(ran.code()).isEqualTo(66);
        assertThat(ran.err()).contains("job_nobody");
        cli.out("berth session rm endless");
    }

    @Test
    void aCallIsAllowedByAPersonWhileItIsWaitedFor() throws Exception {
        cli.out("berth session new careful --permission-mode ask");
        assertThat(cli.out("berth session show careful")).contains("ask");
        Process call = cli.start(cli.berth("exec", "careful", "echo made; exit 3"));
        String id;
        try (BufferedReader err = call.errorReader()) {
            String waits = err.readLine();
            assertThat(waits).contains("berth approve apr_");
            id = waits.replaceAll(".*(apr_[0-9a-f]+).*", "$1");
            assertThat(cli.out("berth approvals careful")).contains(id, "bash", "echo made; exit 3");
            assertThat(cli.out("berth approve " + id)).isEqualTo(id);
            assertThat(new String(call.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .isEqualTo("made\n");
        }
        assertThat(call.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(call.exitValue()).isEqualTo(3);
        assertThat(cli.out("berth approvals careful")).doesNotContain(id);
        assertThat(cli.out("berth approvals careful --all")).contains(id, "done");
        cli.out("berth session rm careful");
    }

    @Test
    void whatIsDeniedIsNotDoneAndWhatIsAlwaysAllowedIsNotAsked() throws Exception {
        cli.out("berth session new strict --permission-mode ask");
        Ran first = cli.run("berth exec --background strict 'touch denied'");
        assertThat(first.code()).isEqualTo(1);
        assertThat(first.out()).isEmpty();
        String denied = first.err().replaceAll("(?s).*(apr_[0-9a-f]+).*", "$1");
        assertThat(cli.out("berth approve --deny --reason 'not on a Friday' --json " + denied))
                .contains("\"state\":\"denied\"", "not on a Friday");
        assertThat(cli.run("berth approve " + denied).code()).isEqualTo(73);
        assertThat(cli.run("berth approve --deny --always " + denied).code()).isEqualTo(2);

        String always = cli.run("berth exec --background strict 'touch allowed'")
                .err()
                .replaceAll("(?s).*(apr_[0-9a-f]+).*", "$1");
        cli.out("berth approve --always " + always);
        assertThat(cli.run("berth exec strict 'until [ -e allowed ]; do sleep 0.1; done; ls'"))
                .isEqualTo(new Ran(0, "allowed\n", ""));
        cli.out("berth session rm strict");
    }

    @Test
    void artifactsAreListedAndSavedBesideWhatIsThere() throws Exception {
        cli.out("berth exec makes 'mkdir -p output; echo one > output/a.txt; printf x,y > output/t.csv'");
        assertThat(cli.out("berth artifacts makes")).contains("a.txt", "t.csv", "table");
        cli.out("berth exec makes 'echo two > output/a.txt'");
        cli.out("mkdir results && echo mine > results/t.csv");
        cli.out("berth artifacts makes --save results");
        assertThat(cli.out("cat results/a.txt")).isEqualTo("two");
        assertThat(cli.out("cat results/t.csv")).isEqualTo("mine");
        assertThat(cli.out("cat results/art_*-a.txt results/art_*-t.csv")).isEqualTo("one\nx,y");
        assertThat(cli.out("berth artifacts makes --json")).contains("\"sha256\":");
        cli.out("berth session rm makes");
        assertThat(cli.out("berth artifacts makes")).contains("t.csv"); // kept by retention
    }

    @Test
    void whatIsCopiedInAndOutIsTheSameBytes() throws Exception {
        cli.out("head -c 3000000 /dev/urandom > random && berth cp random copied:deep/random"
                + " && berth cp copied:deep/random back && cmp random back");
        assertThat(cli.out("berth exec copied 'sha256sum < deep/random'")).isEqualTo(cli.out("sha256sum < random"));
        cli.out("berth session rm copied");
    }

    @Test
    void keysAreMadeUsedRotatedAndEnded() throws Exception {
        String key = cli.out("berth keys new ci --scope tools --expires 30d");
        assertThat(cli.run("BERTH_API_KEY=" + key + " berth exec keyed 'echo as ci'"))
                .isEqualTo(new Ran(0, "as ci\n", ""));
        assertThat(cli.run("BERTH_API_KEY=" + key + " berth session rm keyed").code())
                .isEqualTo(77);
        String id = cli.out("berth keys ls --json | grep -o '\"id\":\"[^\"]*\",[^}]*\"name\":\"ci\"' | cut -d'\"' -f4");
        String turned = cli.out("berth keys rotate --overlap 5m " + id);
        assertThat(turned).startsWith("berth_").isNotEqualTo(key);
        assertThat(cli.run("BERTH_API_KEY=" + key + " berth exec keyed true").code())
                .isZero();
        cli.out("berth keys rm " + id);
        assertThat(cli.run("BERTH_API_KEY=" + key + " berth exec keyed true").code())
                .isEqualTo(77);
        assertThat(cli.run("BERTH_API_KEY=" + turned + " berth exec keyed true").code())
                .isZero();
        cli.out("berth session rm keyed");
    }
}
