package dev.berth.demo;

import dev.berth.cli.Berth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** {@code berth demo}. */
public final class Demo {
    private static final String USAGE = """
            Usage: berth demo slack

            Shows a conversation in Slack with a coding agent, on this machine alone: Slack and the model are stand-ins that
            play a script; the server, its database, the sandbox and the agent in it are the real ones. Everything is made in
            a directory below /var/tmp and removed again. The template 'agent' is built first if it is not there, which takes a
            few minutes.

            Examples:
              berth demo slack
              BERTH_TEMPLATES=/srv/templates berth demo slack""";

    private Demo() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        List<String> words = List.of(arguments);
        if (words.contains("--help") || words.contains("-h")) {
            System.out.println(USAGE);
            return;
        }
        if (!words.equals(List.of("slack"))) {
            System.err.println(USAGE);
            System.exit(2);
        }
        Path templates = Path.of(System.getenv().getOrDefault("BERTH_TEMPLATES", "/var/lib/berth/templates"));
        build(templates);
        new SlackDemo(System.out).run(templates);
        System.exit(0); // what the stand-ins have left to do need not be waited for
    }

    private static void build(Path templates) throws IOException, InterruptedException {
        if (Files.isDirectory(templates.resolve("agent"))) {
            return;
        }
        Process build = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Berth.class.getName(),
                        "template",
                        "build",
                        "agent")
                .inheritIO()
                .start();
        if (build.waitFor() != 0) {
            System.exit(1);
        }
    }
}
