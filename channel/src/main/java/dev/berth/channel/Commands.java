package dev.berth.channel;

import dev.berth.agent.run.Run;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.Turns;
import dev.berth.session.artifact.Artifact;
import dev.berth.session.job.Job;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/** What can be asked of a conversation besides messages to its agent. Answers are Markdown. */
final class Commands {
    static final String HELP = """
            *What I understand*
            - `status`: what the computer of this conversation is doing
            - `stop`: end what the agent is doing
            - `reset`: let the agent forget the conversation; files stay
            - `rollback N`: put the files back to how they were before turn N
            - `fork`: copy the computer, as it is now, to a new session
            - `files`: the files that were made here
            - `jobs`: what runs in the background
            - `help`: this""";

    private static final int LISTED = 15;
    private static final int LINE = 80;
    private static final int LONGEST_KEY = 180;

    private final Parts parts;
    private final RandomGenerator random;

    Commands(Parts parts, RandomGenerator random) {
        this.parts = parts;
        this.random = random;
    }

    String run(SessionKey key, String actor, String text) {
        String[] words = text.strip().split("\\s+", -1);
        try {
            return switch (words[0].toLowerCase(Locale.ROOT)) {
                case "status" -> status(key);
                case "stop" -> stop(key, actor);
                case "reset" -> reset(key, actor);
                case "rollback" -> rollback(key, actor, words);
                case "fork" -> fork(key, actor);
                case "files" -> files(key);
                case "jobs" -> jobs(key);
                case "", "help" -> HELP;
                default -> "There is no command " + Plain.code(words[0], LINE) + ".\n\n" + HELP;
            };
        } catch (SandboxException e) {
            return "That did not work: " + e.getMessage() + ".";
        }
    }

    private String status(SessionKey key) {
        Optional<SessionInfo> info = parts.sessions().find(key);
        String computer = info.map(found -> "*" + found.state().name().toLowerCase(Locale.ROOT) + "*, template "
                        + Plain.code(found.template(), LINE) + ", turn " + found.turn() + ", "
                        + (found.diskBytes() >> 20) + " MB of files")
                .orElse("not made yet");
        String agent = parts.agents()
                .current(key)
                .map(run -> run.state() + ": " + Plain.code(run.prompt(), LINE) + ", " + run.acted() + " steps so far")
                .orElse("idle");
        long running = parts.jobs().list(key, Optional.empty(), LISTED).stream()
                .filter(Job::running)
                .count();
        return "- Session: " + Plain.code(key.id(), 200) + "\n- Computer: " + computer + "\n- Agent: " + agent
                + "\n- Jobs that run: " + running
                + info.flatMap(SessionInfo::lastError)
                        .map(error -> "\n- Last error: " + Plain.line(error, 300))
                        .orElse("");
    }

    private String stop(SessionKey key, String actor) {
        return parts.agents().abort(key, actor) ? "Stopping." : "Nothing goes on here.";
    }

    private String reset(SessionKey key, String actor) {
        parts.agents().reset(key, actor);
        return "The agent has forgotten this conversation. Its files are still there.";
    }

    private String rollback(SessionKey key, String actor, String[] words) {
        List<Turns.Kept> kept = parts.sessions().turns().kept(key);
        if (words.length != 2 || !words[1].matches("[0-9]{1,6}")) {
            return kept.isEmpty()
                    ? "There is nothing to go back to yet: no turn has changed a file."
                    : "Say which turn, such as `rollback " + kept.getFirst().turn() + "`. There are: "
                            + kept.stream()
                                    .limit(LISTED)
                                    .map(turn -> Integer.toString(turn.turn()))
                                    .collect(Collectors.joining(", "))
                            + ".";
        }
        Optional<Run> current = parts.agents().current(key);
        if (current.isPresent()) {
            return "The agent is at work. `stop` it first.";
        }
        int turn = Integer.parseInt(words[1]);
        parts.sessions().rollback(key, turn, actor);
        return "The files are as they were before turn " + turn + ". What ran on the computer was ended.";
    }

    private String fork(SessionKey key, String actor) {
        String id = key.id().substring(0, Math.min(LONGEST_KEY, key.id().length()));
        SessionKey target = SessionKey.of(key.tenant(), "%s.fork-%06x".formatted(id, random.nextInt(1 << 24)));
        try (Session forked = parts.sessions().fork(key, OptionalInt.empty(), target, actor)) {
            return "The computer was copied to the session "
                    + Plain.code(forked.key().id(), 220) + ".\n"
                    + "Work in it with `berth shell " + target.id() + "`, or give its agent something to do with "
                    + "`POST /v1/sessions/" + target.id() + "/prompt`. This conversation stays with its own computer.";
        }
    }

    private String files(SessionKey key) {
        List<Artifact> files = parts.artifacts().list(key, Optional.empty(), LISTED);
        return files.isEmpty()
                ? "No files were made here yet."
                : files.stream()
                        .map(file -> "- " + Plain.code(file.path(), LINE) + ", " + size(file.size()))
                        .collect(Collectors.joining("\n"));
    }

    private static String size(long bytes) {
        return bytes < 10_000
                ? bytes + " bytes"
                : bytes < 10_000_000 ? bytes / 1000 + " kB" : bytes / 1_000_000 + " MB";
    }

    private String jobs(SessionKey key) {
        List<Job> jobs = parts.jobs().list(key, Optional.empty(), LISTED);
        return jobs.isEmpty()
                ? "No jobs were started here."
                : jobs.stream()
                        .map(job -> "- " + Plain.code(job.command(), LINE) + ": " + job.state()
                                + job.error()
                                        .map(error -> ", " + Plain.line(error, 200))
                                        .orElse(""))
                        .collect(Collectors.joining("\n"));
    }
}
