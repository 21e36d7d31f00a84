package dev.berth.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.channel.slack.FakeSlack;
import dev.berth.channel.slack.FakeSlack.Attached;
import dev.berth.channel.slack.FakeSlack.Seen;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A short conversation in a thread: a file goes in, work is done, a picture comes out, and something has to be allowed. */
final class SlackDemo {
    private static final String CHANNEL = "C0WORK";
    private static final String ADA = "U1";
    private static final String BOB = "U2";

    private final PrintStream out;

    SlackDemo(PrintStream out) {
        this.out = out;
    }

    void run(Path templates) throws IOException, InterruptedException {
        try (Stage stage = new Stage(templates)) {
            out.println("Starting a Slack, a model and the server, all on this machine …");
            long began = System.nanoTime();
            stage.start();
            stage.keepKey("sk-which-no-sandbox-sees");
            out.println(
                    "Ready after " + Duration.ofNanos(System.nanoTime() - began).toMillis() + " ms. In #work:");
            String thread = talk(stage);
            ThreadView.print(stage.slack().thread(CHANNEL, thread), out);
            out.println(
                    "All of it was real but Slack and the model: the server, its database, the sandbox, the agent pi.");
        }
    }

    private String talk(Stage stage) throws IOException, InterruptedException {
        FakeSlack slack = stage.slack();
        stage.model()
                .calls("bash", Map.of("command", "sort uploads/sales.csv | tail -n +2 | awk -F, '{print $1, $2}'"))
                .calls("bash", Map.of("command", chart()))
                .calls("showFile", Map.of("path", "/home/user/workspace/output/sales.svg", "title", "Sales by month"))
                .says("Sales *doubled* from January to March: ", "100, 140, 200.\n\nThe chart is below.");
        String thread = slack.says(
                ADA,
                CHANNEL,
                "<@" + FakeSlack.BOT + "> how did sales go? A chart, please.",
                new Attached("sales.csv", "text/csv", "month,sales\n1,100\n2,140\n3,200\n".getBytes(UTF_8)));
        await(slack, thread, "The chart is below");

        stage.model()
                .calls("bash", Map.of("command", "ls output && wc -l < uploads/sales.csv"))
                .says("It is still here, in the same computer: `output/sales.svg`, made of 4 lines.");
        slack.says(BOB, CHANNEL, thread, "is the chart still there? how many lines did it have?");
        await(slack, thread, "It is still here");

        stage.call(
                "PATCH",
                "/v1/sessions/" + Stage.encoded(Stage.session(CHANNEL, thread)),
                Map.of("permission_mode", "ask"));
        stage.model().calls("bash", Map.of("command", "rm output/sales.svg")).says("Done: the chart is removed.");
        slack.says(ADA, CHANNEL, thread, "then remove it again");
        Seen card = awaitButton(slack, thread, "Allow once");
        slack.presses(ADA, CHANNEL, card.ts(), "Allow once");
        await(slack, thread, "the chart is removed");
        return thread;
    }

    private static String chart() {
        return """
                mkdir -p output && awk -F, 'BEGIN { print "<svg xmlns=\\"http://www.w3.org/2000/svg\\" width=\\"90\\" height=\\"200\\">" }
                NR > 1 { printf "<rect x=\\"%d\\" y=\\"%d\\" width=\\"20\\" height=\\"%d\\"/>\\n", $1 * 25 - 20, 200 - $2, $2 }
                END { print "</svg>" }' uploads/sales.csv > output/sales.svg""";
    }

    private static void await(FakeSlack slack, String thread, String text) {
        slack.awaitThread(
                CHANNEL,
                thread,
                messages ->
                        messages.stream().anyMatch(it -> it.bot() && it.text().contains(text))
                                && messages.stream().noneMatch(SlackDemo::runs));
    }

    private static boolean runs(Seen message) {
        return message.buttons().stream().anyMatch(button -> button.label().equals("Stop"));
    }

    private static Seen awaitButton(FakeSlack slack, String thread, String label) {
        List<Seen> messages =
                slack.awaitThread(CHANNEL, thread, now -> now.stream().anyMatch(message -> has(message, label)));
        return messages.stream()
                .filter(message -> has(message, label))
                .findFirst()
                .orElseThrow();
    }

    private static boolean has(Seen message, String label) {
        return message.buttons().stream().anyMatch(button -> button.label().equals(label));
    }
}
