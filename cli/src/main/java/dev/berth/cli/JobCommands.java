package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.Job;
import java.time.Instant;
import java.util.List;

/** {@code berth jobs} and {@code berth job stop}. */
final class JobCommands {
    private static final Option<String> STATE =
            Option.of("--state", "STATE", "running, completed, failed or stopped ones only.");
    private static final Option<Integer> LIMIT =
            Option.of("--limit", "N", "How many at most, the newest first (default 100).", Option.atLeast(1));

    private JobCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "jobs",
                        "List background jobs, of one session or of all.",
                        "[KEY]",
                        new Operands(0, 1, false),
                        List.of(STATE, LIMIT),
                        List.of("jobs", "jobs demo", "jobs --state running --json"),
                        JobCommands::list),
                RemoteCommand.of(
                        "job stop",
                        "End background jobs.",
                        "JOB…",
                        MANY,
                        List.of(),
                        List.of("job stop job_d957620648363f36d59b"),
                        remote -> remote.each(
                                "jobs", id -> remote.berth().jobs().stop(id).json())));
    }

    private static int list(Remote remote) {
        int limit = remote.arguments().get(LIMIT).orElse(100);
        var state = remote.arguments().get(STATE);
        List<Job> jobs = remote.arguments().operands().isEmpty()
                ? remote.berth().jobs().list(state, limit)
                : remote.session().jobs(state, limit);
        Instant now = Instant.now();
        Table table = new Table("JOB", "SESSION", "STATE", "EXIT", "OUTPUT", "AGE", "COMMAND");
        for (Job job : jobs) {
            table.add(
                    job.id(),
                    job.session(),
                    job.state(),
                    job.exitCode().map(String::valueOf).orElse("-"),
                    Sizes.format(job.outputBytes()),
                    Remote.age(job.createdAt(), now),
                    Remote.plain(job.command()));
        }
        remote.show("jobs", jobs.stream().map(Job::json).toList(), table);
        return 0;
    }
}
