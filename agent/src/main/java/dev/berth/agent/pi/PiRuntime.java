package dev.berth.agent.pi;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * pi in RPC mode, over pipes: no terminal that echoes or cuts long lines, and its complaints apart from its records.
 *
 * <p>pi does not lock its session file, and two of it on one file lose what the one wrote that stopped first. So it is
 * started by flock(1), which refuses a second one even if this server believed that the first is gone. The lock is pi's own
 * as long as it lives, and not that of programs it starts: node closes to them what it was given itself.
 */
public final class PiRuntime implements AgentRuntime {
    private static final String TAG = "agent.pi";
    private static final String DIRECTORY = ".pi/agent";
    private static final String SESSION = "/sessions/berth.jsonl";
    private static final String ANOTHER = "an agent works in this session already; attach to it, or end it";
    private static final int LOCKED = 75;
    /** What flock(1) ends with if there is no such program: EX_UNAVAILABLE of sysexits.h. */
    private static final int NOT_EXECUTED = 69;

    @Override
    public String name() {
        return "pi";
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        if (running(sandbox).isPresent()) {
            throw SandboxException.conflict(ANOTHER); // before its file is touched
        }
        String directory = sandbox.files().named(DIRECTORY);
        String session = directory + SESSION;
        // It does not start in a conversation whose working directory is gone.
        sandbox.files().makeDirectory(station.workspace());
        sandbox.files().makeDirectory(directory + "/sessions");
        new PiSetup(directory).write(sandbox.files(), station.config(), sandbox.env());
        PiSessionFile file = new PiSessionFile(sandbox.files(), session);
        file.prepare(station.past()::transcript);
        RunningCommand command = sandbox.start(command(station, directory, session));
        try {
            return PiAgent.started(file, station.config(), listener, command);
        } catch (SandboxException e) {
            throw switch (command.await(Duration.ZERO).map(Exit::code).orElse(0)) {
                case LOCKED -> new SandboxException(ErrorCode.CONFLICT, ANOTHER, e);
                case NOT_EXECUTED ->
                    new SandboxException(
                            ErrorCode.UNSUPPORTED,
                            "the session's template lacks the program 'pi'; take one that has it, such as 'agent'",
                            e);
                default -> e;
            };
        }
    }

    private static Command command(Station station, String directory, String session) {
        return Command.of(
                        "flock",
                        "--nonblock",
                        "--no-fork",
                        "--conflict-exit-code",
                        Integer.toString(LOCKED),
                        session + ".lock",
                        "pi",
                        "--mode",
                        "rpc",
                        "--session",
                        session,
                        "--provider",
                        station.config().model().provider(),
                        "--model",
                        station.config().model().name(),
                        "--offline")
                .withStdin()
                .withCwd(station.workspace())
                .withTag(TAG)
                .withEnv(Map.of("PI_CODING_AGENT_DIR", directory, "PI_OFFLINE", "1", "PI_TELEMETRY", "0"));
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        return running(sandbox).map(command -> {
            // What came after the position and meant nothing may be forgotten already.
            long from = Math.max(position, command.stdoutOldest());
            return PiAgent.found(
                    new PiSessionFile(sandbox.files(), sandbox.files().named(DIRECTORY) + SESSION),
                    station.config().patience(),
                    listener,
                    sandbox.attach(command.id(), from, command.stderrOldest()),
                    from,
                    busy);
        });
    }

    private static Optional<CommandInfo> running(Sandbox sandbox) {
        return sandbox.commands().stream()
                .filter(command -> command.tag().equals(TAG) && command.exit().isEmpty())
                .findFirst();
    }
}
