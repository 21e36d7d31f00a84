package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Option;
import dev.berth.client.BerthException;
import dev.berth.client.EventStream;
import dev.berth.client.Job;
import dev.berth.client.JobLogs;
import dev.berth.client.Json;
import dev.berth.client.SessionClient;
import dev.berth.client.SessionEvent;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** {@code berth logs}: what a job printed, or what happened in a session. */
final class LogsCommand {
    private static final Option<Boolean> FOLLOW = Option.flag("-f, --follow", "Go on as more comes.");
    private static final Option<Long> AFTER =
            Option.of("--after", "N", "Only what is behind this number, as --json shows them.", LogsCommand::number);

    private LogsCommand() {}

    static Subcommand command() {
        return RemoteCommand.of(
                "logs",
                "Show what a job printed, or what happened in a session.",
                "KEY|JOB",
                ONE,
                List.of(FOLLOW, AFTER),
                List.of("logs demo", "logs -f demo", "logs -f job_d957620648363f36d59b"),
                LogsCommand::run);
    }

    private static int run(Remote remote) {
        Optional<Job> job = job(remote);
        boolean follow = remote.arguments().has(FOLLOW);
        long after = remote.arguments().get(AFTER).orElse(0L);
        if (job.isPresent()) {
            return new JobOutput(
                            remote,
                            job.get(),
                            new FileOutputStream(FileDescriptor.out),
                            new FileOutputStream(FileDescriptor.err))
                    .print(after, follow);
        }
        if (!follow) {
            List<SessionEvent> events = remote.session().eventsUntilNow(after);
            if (remote.json()) {
                remote.print(Json.object()
                        .with("events", events.stream().map(SessionEvent::json).toList()));
            } else {
                events.forEach(event -> print(remote, event));
            }
            return 0;
        }
        try (EventStream events = remote.session().events(after)) {
            for (SessionEvent event : events) {
                print(remote, event);
            }
        }
        return 0;
    }

    /** What the name stands for: a job, if there is one of that name. */
    private static Optional<Job> job(Remote remote) {
        try {
            return Optional.of(remote.berth().jobs().get(remote.operand(0)));
        } catch (BerthException e) {
            if (e.is(BerthException.NOT_FOUND) || e.is("invalid")) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static void print(Remote remote, SessionEvent event) {
        // One object a line: what is followed has no end to close a list at.
        remote.console()
                .out()
                .println(
                        remote.json()
                                ? event.json().toString()
                                : event.at() + "  " + event.type() + "  "
                                        + Remote.plain(event.data().toString()));
    }

    private static long number(String text) {
        return Option.atLeast(0).apply(text);
    }

    /** The output of a job on our own streams. */
    private record JobOutput(Remote remote, Job job, OutputStream out, OutputStream err) {
        int print(long after, boolean follow) {
            try {
                JobLogs page = printUntilNow(after);
                if (!follow) {
                    return 0;
                }
                if (!page.complete()) {
                    printAsItComes(page.next());
                }
                return remote.berth().jobs().get(job.id()).exitCode().orElse(0);
            } catch (IOException e) {
                return ExitCodes.BROKEN_PIPE; // whoever read our output has left
            }
        }

        private void printAsItComes(long after) throws IOException {
            SessionClient session = remote.berth().session(job.session());
            // What happened before is not asked for. Events from the number on are kept until they are read, so nothing
            // can
            // come unseen between the output that is read here and the wait.
            try (EventStream events = session.events(session.info().lastEvent())) {
                JobLogs page = printUntilNow(after);
                while (!page.complete() && awaitMore(events)) {
                    page = printUntilNow(page.next());
                }
                if (!page.complete()) { // the session was removed, and the job with it
                    printUntilNow(page.next());
                }
            }
        }

        /** Whether something of this job happened; false if nothing can any more. */
        private boolean awaitMore(EventStream events) {
            for (SessionEvent event : events) {
                if (event.data().get("job_id").text().equals(job.id())) {
                    return true;
                }
            }
            return false;
        }

        private JobLogs printUntilNow(long after) throws IOException {
            List<Json> chunks = new ArrayList<>();
            JobLogs page = remote.berth().jobs().logs(job.id(), after);
            while (true) {
                for (JobLogs.Chunk chunk : page.chunks()) {
                    if (!remote.json()) {
                        OutputStream to = chunk.stream().equals("stderr") ? err : out;
                        to.write(chunk.bytes());
                        to.flush();
                    }
                }
                chunks.addAll(page.json().get("chunks").items());
                if (page.complete() || page.chunks().isEmpty()) {
                    break;
                }
                page = remote.berth().jobs().logs(job.id(), page.next());
            }
            if (remote.json() && !chunks.isEmpty()) {
                remote.print(page.json().with("chunks", chunks));
            }
            return page;
        }
    }
}
