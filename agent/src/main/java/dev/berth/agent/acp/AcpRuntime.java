package dev.berth.agent.acp;

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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An agent that speaks the Agent Client Protocol over pipes.
 *
 * <p>It is started by flock(1), which refuses a second one of a conversation even if this server believed that the first
 * is gone. OpenCode does not pass the lock on to programs that it starts.
 */
public final class AcpRuntime implements AgentRuntime {
    private static final String ANOTHER = "an agent works in this session already; attach to it, or end it";
    private static final int LOCKED = 75;
    /** What flock(1) ends with if there is no such program: EX_UNAVAILABLE of sysexits.h. */
    private static final int NOT_EXECUTED = 69;

    private final String name;
    private final List<String> program;
    private final AcpSetup setup;

    /**
     * Any agent that its template or its people have set up.
     *
     * @param name a word, by which it is chosen
     * @param program and its arguments
     */
    public AcpRuntime(String name, List<String> program) {
        this(name, program, AcpSetup.NONE);
    }

    private AcpRuntime(String name, List<String> program, AcpSetup setup) {
        if (!name.matches("[a-z][a-z0-9-]{0,31}") || program.isEmpty()) {
            throw SandboxException.invalid(
                    "an agent needs a name of lower-case letters, digits and '-', and a program");
        }
        this.name = name;
        this.program = List.copyOf(program);
        this.setup = setup;
    }

    public static AcpRuntime opencode() {
        return new AcpRuntime("opencode", List.of("opencode", "acp"), new OpencodeSetup());
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public long memoryBytes() {
        return setup.memoryBytes();
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        if (running(sandbox).isPresent()) {
            throw SandboxException.conflict(ANOTHER);
        }
        sandbox.files().makeDirectory(station.workspace());
        sandbox.files().makeDirectory(directory(sandbox));
        setup.write(sandbox, station.config());
        RunningCommand command = sandbox.start(command(station));
        try {
            return AcpAgent.started(
                    station,
                    notebook(sandbox),
                    process(command.id(), command.pid()),
                    listener,
                    receiver -> PipeWire.open(command, 0, receiver),
                    setup.model(station.config()));
        } catch (SandboxException e) {
            throw switch (command.await(Duration.ZERO).map(Exit::code).orElse(0)) {
                case LOCKED -> new SandboxException(ErrorCode.CONFLICT, ANOTHER, e);
                case NOT_EXECUTED ->
                    new SandboxException(
                            ErrorCode.UNSUPPORTED,
                            "the session's template lacks the program '" + program.getFirst()
                                    + "'; take one that has it, such as 'agent'",
                            e);
                default -> e;
            };
        }
    }

    private Command command(Station station) {
        List<String> argv = new ArrayList<>(List.of(
                "flock",
                "--nonblock",
                "--no-fork",
                "--conflict-exit-code",
                Integer.toString(LOCKED),
                directory(station.sandbox()) + "/lock"));
        argv.addAll(program);
        return Command.of(argv)
                .withStdin()
                .withCwd(station.workspace())
                .withTag(tag())
                .withEnv(setup.variables());
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        Sandbox sandbox = station.sandbox();
        return running(sandbox)
                .flatMap(command -> AcpAgent.found(
                        station,
                        notebook(sandbox),
                        process(command.id(), command.pid()),
                        listener,
                        (receiver, from) -> PipeWire.reopen(
                                sandbox.attach(command.id(), from, command.stderrOldest()), from, receiver),
                        // What came after the position and meant nothing may be forgotten already.
                        Math.max(position, command.stdoutOldest()),
                        command.stdoutEnd(),
                        busy));
    }

    private String tag() {
        return "agent." + name;
    }

    private String directory(Sandbox sandbox) {
        return sandbox.files().named(".berth/" + name);
    }

    private Notebook notebook(Sandbox sandbox) {
        return new Notebook(sandbox.files(), directory(sandbox) + "/notes.json");
    }

    private static String process(int id, int pid) {
        return id + "." + pid;
    }

    private Optional<CommandInfo> running(Sandbox sandbox) {
        return sandbox.commands().stream()
                .filter(command -> command.tag().equals(tag()) && command.exit().isEmpty())
                .findFirst();
    }
}
