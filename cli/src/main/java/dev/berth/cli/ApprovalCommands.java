package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.client.Approval;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** {@code berth approvals} and {@code berth approve}. */
final class ApprovalCommands {
    private static final Option<Boolean> ALL = Option.flag("--all", "Also those that were decided.");
    private static final Option<Boolean> DENY = Option.flag("--deny", "Say no.");
    private static final Option<Boolean> ALWAYS =
            Option.flag("--always", "Say yes, also to what is alike in the same session.");
    private static final Option<String> REASON = Option.of("--reason", "TEXT", "Why, for the model to read.");

    private ApprovalCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "approvals",
                        "List calls that wait for somebody to allow them.",
                        "[KEY]",
                        new Operands(0, 1, false),
                        List.of(ALL),
                        List.of("approvals", "approvals demo --all"),
                        ApprovalCommands::list),
                RemoteCommand.of(
                        "approve",
                        "Allow calls that wait for it, or deny them.",
                        "ID…",
                        MANY,
                        List.of(DENY, ALWAYS, REASON),
                        List.of(
                                "approve apr_3f9c…",
                                "approve apr_3f9c… --always",
                                "approve apr_3f9c… --deny --reason 'not on a Friday'"),
                        ApprovalCommands::decide));
    }

    private static int list(Remote remote) {
        Arguments arguments = remote.arguments();
        List<Approval> approvals = remote.berth()
                .approvals()
                .list(
                        arguments.has(ALL) ? Optional.empty() : Optional.of("pending"),
                        arguments.operands().stream().findFirst());
        Instant now = Instant.now();
        Table table = new Table("ID", "SESSION", "STATE", "TOOL", "ENDS", "INPUT");
        for (Approval approval : approvals) {
            table.add(
                    approval.id(),
                    approval.session(),
                    approval.state(),
                    approval.tool(),
                    approval.expiresAt()
                            .filter(end -> end.isAfter(now) && approval.state().equals("pending"))
                            .map(end -> "in "
                                    + Durations.format(Duration.ofSeconds(Math.max(
                                            0, Duration.between(now, end).toSeconds()))))
                            .orElse("-"),
                    Remote.plain(input(approval)));
        }
        remote.show("approvals", approvals.stream().map(Approval::json).toList(), table);
        return 0;
    }

    /** What a person has to see to decide: the command itself where there is one. */
    private static String input(Approval approval) {
        return approval.input()
                .get("command")
                .optionalText()
                .orElseGet(() -> approval.input().toString());
    }

    private static int decide(Remote remote) {
        Arguments arguments = remote.arguments();
        if (arguments.has(DENY) && arguments.has(ALWAYS)) {
            throw new UsageException("--deny and --always contradict each other");
        }
        Approval.Decision decision = arguments.has(DENY)
                ? Approval.Decision.DENY
                : arguments.has(ALWAYS) ? Approval.Decision.ALWAYS : Approval.Decision.APPROVE;
        return remote.each(
                "approvals",
                id -> remote.berth()
                        .approvals()
                        .decide(id, decision, arguments.get(REASON))
                        .json());
    }
}
