package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.agent.acp.AcpAgent;
import dev.berth.agent.acp.AcpSetup;
import dev.berth.agent.acp.Notebook;
import dev.berth.agent.acp.OpencodeSetup;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Command.WhenFull;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * OpenCode behind sandbox-agent, a server inside the sandbox.
 *
 * <p>The server listens on the sandbox's loopback and wants a token, as other programs in there can connect too. Token and
 * port are in a file that only its user can read, where a later server of ours finds them. sandbox-agent takes the token as
 * an argument alone, so it is put there inside the sandbox, and no list of commands has it.
 */
public final class SandboxAgentRuntime implements AgentRuntime {
    private static final Logger LOG = LoggerFactory.getLogger(SandboxAgentRuntime.class);
    private static final String NAME = "sandbox-agent";
    private static final String TAG = "agent." + NAME;
    private static final String AGENT = "opencode";
    private static final String DIRECTORY = ".berth/" + NAME;
    private static final String LOCK = "/lock";
    private static final String ANOTHER = "an agent works in this session already; attach to it, or end it";
    private static final int LOCKED = 75;
    /** What a shell ends with if there is no such program. */
    private static final int NOT_EXECUTED = 127;

    private static final int PORTS = 3;
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String START = """
            { read -r port && read -r token; } < "$0" || exit 1
            exec sandbox-agent server --host 127.0.0.1 --port "$port" --token "$token" --no-telemetry
            """;

    private final AcpSetup setup = new OpencodeSetup();

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public long memoryBytes() {
        return setup.memoryBytes();
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        if (running(sandbox).isPresent()) {
            throw SandboxException.conflict(ANOTHER); // before its token is written over
        }
        sandbox.files().makeDirectory(station.workspace());
        sandbox.files().makeDirectory(directory(sandbox));
        setup.write(sandbox, station.config());
        leftovers(sandbox).end();
        for (int attempt = 1; ; attempt++) {
            try {
                return start(station, listener, freshServer(sandbox));
            } catch (PortTaken e) {
                if (attempt == PORTS) {
                    throw SandboxException.unavailable(e.getMessage(), e);
                }
                LOG.debug("another port is tried", e);
            }
        }
    }

    /** Somebody else listens there, or the server could not for another reason. */
    private static final class PortTaken extends Exception {
        private static final long serialVersionUID = 1;

        PortTaken(String message) {
            super(message);
        }

        @Override
        public String getMessage() {
            return String.valueOf(super.getMessage());
        }
    }

    private Agent start(Station station, AgentListener listener, Server server) throws PortTaken {
        Sandbox sandbox = station.sandbox();
        RunningCommand command = sandbox.start(command(station));
        ServerLog log = ServerLog.of(command);
        Duration patience = station.config().patience().start();
        if (!log.awaitListening(patience) || !server.healthy()) {
            throw failure(command, log);
        }
        return AcpAgent.started(
                station,
                notebook(sandbox),
                process(command.id(), command.pid()),
                listener,
                receiver -> EventWire.fresh(server, command, log, leftovers(sandbox), receiver, AGENT, patience),
                setup.model(station.config()));
    }

    private static SandboxException failure(RunningCommand command, ServerLog log) throws PortTaken {
        try (command) {
            Optional<Exit> exit = command.await(Duration.ofSeconds(1));
            if (exit.isEmpty()) {
                command.signal(Signal.KILL);
                command.await(Duration.ofSeconds(3));
                return SandboxException.timeout("sandbox-agent did not come up in time" + log.complaint());
            }
            return switch (exit.get().code()) {
                case LOCKED -> SandboxException.conflict(ANOTHER);
                case NOT_EXECUTED ->
                    SandboxException.unsupported("the session's template lacks the program 'sandbox-agent'; take one"
                            + " that has it, such as 'agent'");
                default ->
                    throw new PortTaken(
                            "sandbox-agent ended with status " + exit.get().code() + log.complaint());
            };
        }
    }

    private Command command(Station station) {
        String directory = directory(station.sandbox());
        Map<String, String> variables = new TreeMap<>(setup.variables());
        variables.put("SANDBOX_AGENT_REQUIRE_PREINSTALL", "1");
        variables.put("SANDBOX_AGENT_LOG_STDOUT", "1");
        // It never answers a request that took longer, so nothing may.
        variables.put(
                "SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS",
                Long.toString(Duration.ofDays(7).toMillis()));
        return Command.of(List.of(
                        "flock",
                        "--nonblock",
                        "--no-fork",
                        "--conflict-exit-code",
                        Integer.toString(LOCKED),
                        directory + LOCK,
                        "sh",
                        "-c",
                        START,
                        directory + "/server"))
                .withCwd(station.workspace())
                .withTag(TAG)
                .withEnv(variables)
                .whenFull(WhenFull.DROP_OLDEST);
    }

    private static Server freshServer(Sandbox sandbox) {
        byte[] token = new byte[32];
        RANDOM.nextBytes(token);
        Server server = new Server(
                sandbox, 20_000 + RANDOM.nextInt(10_000), HexFormat.of().formatHex(token));
        sandbox.files()
                .write(
                        directory(sandbox) + "/server",
                        new ByteArrayInputStream((server.port() + "\n" + server.token() + "\n").getBytes(UTF_8)),
                        0600);
        return server;
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        return running(sandbox).flatMap(info -> {
            RunningCommand command = sandbox.attach(info.id(), info.stdoutEnd(), info.stderrEnd());
            ServerLog log = ServerLog.of(command);
            Optional<Server> server = knownServer(sandbox).filter(Server::healthy);
            if (server.isEmpty()) {
                try (command) {
                    command.signal(Signal.KILL);
                    command.await(Duration.ofSeconds(3));
                }
                leftovers(sandbox).end();
                throw SandboxException.timeout("sandbox-agent did not answer, and was ended" + log.complaint());
            }
            return AcpAgent.found(
                    station,
                    notebook(sandbox),
                    process(info.id(), info.pid()),
                    listener,
                    (receiver, from) ->
                            EventWire.resumed(server.get(), command, log, leftovers(sandbox), receiver, AGENT, from),
                    position,
                    Long.MAX_VALUE,
                    busy);
        });
    }

    private static Optional<Server> knownServer(Sandbox sandbox) {
        try (InputStream in = sandbox.files().read(directory(sandbox) + "/server", 0, 200)) {
            String[] lines = new String(in.readAllBytes(), UTF_8).split("\n", -1);
            return lines.length == 3 && lines[0].matches("[0-9]{1,5}") && lines[1].matches("[0-9a-f]{64}")
                    ? Optional.of(new Server(sandbox, Integer.parseInt(lines[0]), lines[1]))
                    : Optional.empty();
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read where sandbox-agent listens", e);
        }
    }

    private static String directory(Sandbox sandbox) {
        return sandbox.files().named(DIRECTORY);
    }

    private static Leftovers leftovers(Sandbox sandbox) {
        return new Leftovers(sandbox, directory(sandbox) + LOCK);
    }

    private static Notebook notebook(Sandbox sandbox) {
        return new Notebook(sandbox.files(), directory(sandbox) + "/notes.json");
    }

    private static String process(int id, int pid) {
        return id + "." + pid;
    }

    private static Optional<CommandInfo> running(Sandbox sandbox) {
        return sandbox.commands().stream()
                .filter(command -> command.tag().equals(TAG) && command.exit().isEmpty())
                .findFirst();
    }
}
