package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Settings;
import dev.berth.cli.config.Values;
import dev.berth.sandbox.SandboxException;
import java.util.List;

/** {@code berth up}. */
final class UpCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "up",
                "Start the server: a computer for every conversation, over HTTP.",
                List.of("[OPTION…]"),
                Operands.NONE,
                Settings.options(),
                List.of(
                        "There are more settings than options; docs/configuration.md lists all of them, with the variables and",
                        "the YAML names. The first start takes a minute or two: it makes a database and builds a template.",
                        "Ctrl-C or TERM stops the server in order, a second one at once; sandboxes stay as they are.",
                        "",
                        "Examples:",
                        "  berth up",
                        "  berth up --port 9000 --data /srv/berth --template host",
                        "  BERTH_IDLE_PAUSE=5m berth up --config /etc/berth.yaml"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        ServerSettings settings = new ServerSettings(Values.read(arguments, console.env()));
        LogToStderr.use(
                settings.values().get(Settings.LOG_LEVEL), settings.values().get(Settings.LOG_FORMAT));
        Wiring.requireRoot();
        StopSignals signals = StopSignals.install();
        Server server;
        try {
            server = Server.start(settings, new FirstStart(console), console);
        } catch (SandboxException e) {
            if (signals.asked()) {
                console.say("stopped before it was ready");
                return 0;
            }
            throw e;
        } finally {
            signals.started();
        }
        KeyFiles.at(settings.data().resolve("keys")).write(KeyFiles.URL, server.url());
        console.out().print(ready(server.url(), server.shownKey()));
        server.domain().ifPresent(domain -> console.out().print(e2b(server.url(), domain, settings)));
        console.out().flush();
        signals.await();
        List<String> failures = server.stop();
        failures.forEach(console::say);
        return failures.isEmpty() ? 0 : ExitCodes.FAULT;
    }

    /** What is printed when the server takes requests; {@code key} is how the API key is written in a shell. */
    private static String ready(String url, String key) {
        return """
                Berth is ready at %1$s (API: %1$s/docs). Try it:

                  curl %1$s/v1/sandbox/execute -H "Authorization: Bearer %2$s" \\
                    -H 'Content-Type: application/json' -d '{"session_id": "s1", "code": "print(6 * 7)"}'
                """.formatted(url, key);
    }

    /** What E2B's clients are told; the key is in a file, since these lines are for programs. */
    private static String e2b(String url, String domain, ServerSettings settings) {
        return """

                For E2B's SDKs:

                  export E2B_API_URL=%1$s E2B_SANDBOX_URL=%1$s E2B_VOLUME_API_URL=%1$s E2B_API_KEY=$(cat %2$s)

                Ports of their sandboxes are at https://<port>-<id>.%3$s%4$s
                """.formatted(
                url,
                settings.keys().resolve(KeyFiles.E2B),
                domain,
                settings.values().has(Settings.E2B_TLS_KEYSTORE)
                        ? ""
                        : "\n(certified by %s)".formatted(settings.data().resolve("e2b/ca.pem")));
    }
}
