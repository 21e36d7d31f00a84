package dev.berth.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlackDemoTest {
    @Test
    void printsTheThreadAsAPersonWouldSeeIt() throws Exception {
        TestingTemplates.agent();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        new SlackDemo(new PrintStream(printed, true, UTF_8)).run(TestMachine.templates());
        assertThat(printed.toString(UTF_8))
                .containsSubsequence(
                        "Ada",
                        "how did sales go?",
                        "[file] sales.csv",
                        "berth  [app]",
                        "Bob",
                        "is the chart still there?",
                        "It is still here",
                        "then remove it again",
                        "Allowed by Ada",
                        "the chart is removed")
                .containsOnlyOnce("[file] sales.svg")
                .doesNotContain("&amp;");
    }
}
