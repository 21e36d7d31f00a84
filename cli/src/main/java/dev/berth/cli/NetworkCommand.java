package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.UsageException;
import dev.berth.client.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code berth session network}, and the same options where a session is made. */
final class NetworkCommand {
    private static final List<String> MODES = List.of("none", "restricted", "open");

    static final Option<String> NETWORK = Option.of(
            "--network",
            "MODE",
            "What it may reach: none, restricted or open (restricted if something is allowed).",
            NetworkCommand::mode);
    static final Option<Json> ALLOW = Option.of(
            "--allow",
            "HOST[:PORT]",
            "What it may reach, such as pypi.org, *.example.com or 10.0.0.0/8; may be given often.",
            NetworkCommand::rule);
    static final Option<String> SECRET =
            Option.of("--secret", "NAME", "A secret that is put into its requests on the way out; may be given often.");

    private static final Option<String> MODE =
            Option.of("--mode", "MODE", "Set what it may reach: none, restricted or open.", NetworkCommand::mode);
    private static final Option<Json> ALLOWED = Option.of(
            "--allow", "HOST[:PORT]", "What it may reach from now on; may be given often.", NetworkCommand::rule);
    private static final Option<String> SECRETS =
            Option.of("--secret", "NAME", "What is put into its requests from now on; may be given often.");

    private NetworkCommand() {}

    static Subcommand command() {
        return RemoteCommand.of(
                "session network",
                "Show what a session may reach, or change it at once.",
                "KEY",
                ONE,
                List.of(MODE, ALLOWED, SECRETS),
                List.of(
                        "session network demo",
                        "session network demo --allow pypi.org --allow '*.pythonhosted.org'",
                        "session network demo --allow api.example.com:8443 --secret EXAMPLE_KEY",
                        "session network demo --mode none"),
                NetworkCommand::run);
    }

    /** What a new session is to reach, if anything is said of it. */
    static Optional<Json> wanted(Arguments arguments) {
        List<Json> allow = arguments.all(ALLOW);
        List<String> secrets = arguments.all(SECRET);
        if (allow.isEmpty() && secrets.isEmpty() && arguments.get(NETWORK).isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(Json.object()
                .with("mode", arguments.get(NETWORK).orElse("restricted"))
                .with("allow", allow)
                .with("secrets", secrets));
    }

    /** In a few words. */
    static String brief(Json network) {
        String mode = network.get("mode").text();
        List<String> reached = new ArrayList<>();
        network.get("allow").items().forEach(rule -> reached.add(rule.get("to").text()));
        network.get("secrets").items().forEach(secret -> reached.add("secret " + secret.text()));
        return reached.isEmpty() ? mode : mode + ": " + String.join(", ", reached);
    }

    private static int run(Remote remote) {
        Json before = remote.session().network();
        Arguments arguments = remote.arguments();
        boolean change = arguments.get(MODE).isPresent()
                || !arguments.all(ALLOWED).isEmpty()
                || !arguments.all(SECRETS).isEmpty();
        Json now = change ? remote.session().network(changed(before, arguments)) : before;
        Table table = new Table("mode", now.get("mode").text());
        now.get("allow").items().forEach(rule -> table.add("allow", shown(rule)));
        now.get("secrets").items().forEach(secret -> table.add("secret", secret.text()));
        remote.show(now, table);
        return 0;
    }

    /** What is not said stays as it is, as far as the mode has it. */
    private static Json changed(Json before, Arguments arguments) {
        String mode = arguments.get(MODE).orElseGet(() -> {
            String now = before.get("mode").text();
            return now.equals("none") ? "restricted" : now;
        });
        boolean kept = mode.equals(before.get("mode").text());
        List<Json> allow = arguments.all(ALLOWED);
        List<String> secrets = arguments.all(SECRETS);
        Json change = Json.object().with("mode", mode).with("caps", before.get("caps"));
        if (!allow.isEmpty() || !kept) {
            change = change.with("allow", allow);
        } else {
            change = change.with("allow", before.get("allow"));
        }
        if (!secrets.isEmpty() || mode.equals("none")) {
            return change.with("secrets", secrets);
        }
        return change.with("secrets", before.get("secrets"));
    }

    private static String shown(Json rule) {
        return Remote.plain(rule.get("to").text()) + " ports " + words(rule.get("ports"))
                + words(" ", rule.get("methods")) + words(" ", rule.get("paths"));
    }

    private static String words(String before, Json list) {
        return list.items().isEmpty() ? "" : before + words(list);
    }

    private static String words(Json list) {
        return list.items().stream()
                .map(Json::toString)
                .map(text -> text.replace("\"", ""))
                .collect(Collectors.joining(","));
    }

    private static String mode(String text) {
        if (!MODES.contains(text)) {
            throw new UsageException("there is no '" + text + "' here; take none, restricted or open");
        }
        return text;
    }

    /** A port stands behind a name or a range; addresses of version 6 have colons of their own, and brackets for that. */
    private static Json rule(String text) {
        int end = text.lastIndexOf(']');
        int colon = text.lastIndexOf(':');
        boolean ported = colon > end && (end >= 0 || text.indexOf(':') == colon);
        String host = ported ? text.substring(0, colon) : text;
        Json rule = Json.object().with("to", host.startsWith("[") ? host.replaceAll("[\\[\\]]", "") : host);
        if (!ported) {
            return rule;
        }
        String port = text.substring(colon + 1);
        if (!port.matches("[0-9]{1,5}")) {
            throw new UsageException("'" + text + "' is not a host and port, such as example.com:8443");
        }
        return rule.with("ports", List.of(Integer.parseInt(port)));
    }
}
