package dev.berth.agent.pi;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import java.util.Map;
import java.util.Optional;

/**
 * pi in RPC mode, over pipes: no terminal that echoes or cuts long lines, and its complaints apart from its records.
 *
 * <p>pi does not lock its session file, and two of it on one file lose what the one wrote that stopped first. So it is
 * started below flock(1), which refuses a second one even if this server believed that the first is gone.
 */
public final class PiRuntime implements AgentRuntime {
    private static final String TAG = "agent.pi";
    private static final String DIRECTORY = ".pi/agent";
    private static final String SESSION = "/sessions/berth.jsonl";
    private static final int LOCKED = 75;

    @Override
    public String name() {
        return "pi";
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        String directory = sandbox.files().named(DIRECTORY);
        String session = directory + SESSION;
        new PiSetup(directory).write(sandbox.files(), station.config(), sandbox.env());
        sandbox.files().makeDirectory(directory + "/sessions");
        new PiSessionFile(sandbox.files(), session).prepare(station.transcript());
        RunningCommand command = sandbox.start(Command.of(
                        "flock",
                        "--nonblock",
                        "--close",
                        "--conflict-exit-code",
                        Integer.toString(LOCKED),
                        session + ".lock",
                        "pi",
                        "--mode",
                        "rpc",
                        "--session",
                        session,
                        "--offline")
                .withStdin()
                .withCwd(station.workspace())
                .withTag(TAG)
                .withEnv(Map.of("PI_CODING_AGENT_DIR", directory, "PI_OFFLINE", "1", "PI_TELEMETRY", "0")));
        return PiAgent.open(session, station.config().patience(), listener, command, 0);
    }

    @Override
    public Optional<Agent> attach(Station station, long position, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        return sandbox.commands().stream()
                .filter(command -> command.tag().equals(TAG) && command.exit().isEmpty())
                .map(CommandInfo::id)
                .findFirst()
                .map(id -> PiAgent.open(
                        sandbox.files().named(DIRECTORY) + SESSION,
                        station.config().patience(),
                        listener,
                        sandbox.attach(id, position, 0),
                        position));
    }
}
