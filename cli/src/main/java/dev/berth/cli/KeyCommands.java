package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;
import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.ApiKey;
import dev.berth.client.Json;
import dev.berth.client.KeyForm;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** {@code berth keys …}. */
final class KeyCommands {
    private static final Option<String> SCOPE = Option.of(
            "--scope",
            "NAME",
            "tools, sessions, configs, keys, approvals or secrets; may be given often (default: all).");
    private static final Option<Duration> EXPIRES =
            Option.of("--expires", "TIME", "How long it works, such as 30d (default: for ever).", Durations::parse);
    private static final Option<Duration> OVERLAP =
            Option.of("--overlap", "TIME", "How long the old one goes on working (default 1h).", Durations::parse);

    private static final Option<Boolean> E2B =
            Option.flag("--e2b", "In the form that E2B's clients insist on: e2b_ and 40 digits.");

    private KeyCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "keys ls",
                        "List the keys of the tenant.",
                        "",
                        Operands.NONE,
                        List.of(),
                        List.of("keys ls", "keys ls --tenant acme"),
                        KeyCommands::list),
                RemoteCommand.of(
                        "keys new",
                        "Make a key and print it; it is not shown again.",
                        "NAME",
                        ONE,
                        List.of(SCOPE, EXPIRES, E2B),
                        List.of("keys new ci", "keys new ci --scope tools --expires 30d", "keys new app --e2b"),
                        remote -> made(
                                remote,
                                remote.berth()
                                        .keys()
                                        .make(
                                                remote.operand(0),
                                                remote.arguments().all(SCOPE),
                                                remote.arguments().get(EXPIRES),
                                                form(remote)))),
                RemoteCommand.of(
                        "keys rotate",
                        "Make another key like one, which works for a while longer, and print it.",
                        "ID",
                        ONE,
                        List.of(OVERLAP, E2B),
                        List.of("keys rotate 3f9c1a20", "keys rotate 3f9c1a20 --overlap 1d"),
                        remote -> made(
                                remote,
                                remote.berth()
                                        .keys()
                                        .rotate(
                                                remote.operand(0),
                                                remote.arguments().get(OVERLAP),
                                                form(remote)))),
                RemoteCommand.of(
                        "keys rm",
                        "End keys.",
                        "ID…",
                        MANY,
                        List.of(),
                        List.of("keys rm 3f9c1a20"),
                        remote -> remote.each("revoked", id -> {
                            remote.berth().keys().revoke(id);
                            return Json.object().with("id", id);
                        })));
    }

    private static KeyForm form(Remote remote) {
        return remote.arguments().has(E2B) ? KeyForm.E2B : KeyForm.BERTH;
    }

    private static int list(Remote remote) {
        List<ApiKey> keys = remote.berth().keys().list();
        Instant now = Instant.now();
        Table table = new Table("ID", "NAME", "SCOPES", "STATE", "AGE", "USED");
        for (ApiKey key : keys) {
            table.add(
                    key.id(),
                    Remote.plain(key.name()),
                    String.join(",", key.scopes()),
                    state(key, now),
                    Remote.age(key.createdAt(), now),
                    key.lastUsedAt().map(used -> Remote.age(used, now) + " ago").orElse("never"));
        }
        remote.show("keys", keys.stream().map(ApiKey::json).toList(), table);
        return 0;
    }

    private static String state(ApiKey key, Instant now) {
        if (key.revokedAt().isPresent()) {
            return "ended";
        }
        return key.expiresAt()
                .map(end -> end.isAfter(now) ? "works for " + Durations.format(Duration.between(now, end)) : "run out")
                .orElse("works");
    }

    private static int made(Remote remote, ApiKey.Made made) {
        if (remote.json()) {
            remote.print(made.json());
        } else {
            remote.console().out().println(made.secret());
            remote.console().say("its id is " + made.key().id() + "; the key itself is not shown again");
        }
        return 0;
    }
}
