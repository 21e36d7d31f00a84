package dev.berth.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.management.ThreadMXBean;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** The workspace of a real sandbox, for the tests of one class. Needs root and crun. */
final class TestingWorkspace implements AutoCloseable {
    private final TestMachine machine = new TestMachine(RuntimeKind.CRUN);
    private final Sandbox sandbox;
    private final Workspace workspace;

    TestingWorkspace() {
        this(Map.of());
    }

    /** @param env variables of every command */
    TestingWorkspace(Map<String, String> env) {
        sandbox = machine.provider().create(SandboxSpec.of("tools", "host").withEnv(env));
        workspace = Workspace.of(sandbox);
    }

    Workspace workspace() {
        return workspace;
    }

    Sandbox sandbox() {
        return sandbox;
    }

    /** Runs a script in the workspace. */
    String sh(String script) {
        var result = sandbox.run(Command.shell(script).withCwd(workspace.directory()));
        assertThat(result.code()).as(script + ": " + result.stderr()).isZero();
        return result.stdout();
    }

    /** Has a process in the sandbox exchange two names all the time, until this is closed. */
    AutoCloseable swapping(String one, String other) {
        String script = """
                import ctypes, sys
                libc = ctypes.CDLL(None)
                one, other = (name.encode() for name in sys.argv[1:])
                while True: libc.renameat2(-100, one, -100, other, 2)
                """;
        var command =
                sandbox.start(Command.of("python3", "-c", script, one, other).withCwd(workspace.directory()));
        return () -> {
            command.signal(Signal.KILL);
            command.await();
            command.close();
        };
    }

    void put(String path, String text) {
        put(path, text.getBytes(StandardCharsets.UTF_8));
    }

    void put(String path, byte[] bytes) {
        workspace.files().write(path, new ByteArrayInputStream(bytes));
    }

    String get(String path) {
        try (InputStream in = workspace.files().read(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void clear() {
        sh("find . -mindepth 1 -delete");
    }

    static SandboxException assertFails(ErrorCode code, ThrowingCallable operation) {
        SandboxException failure = catchThrowableOfType(SandboxException.class, operation);
        assertThat(failure).as("failure").isNotNull();
        assertThat(failure.code()).as(failure.getMessage()).isEqualTo(code);
        return failure;
    }

    /** How many bytes this thread allocates for something; what it holds at a time is less. */
    static long allocated(Runnable work) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        work.run();
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    @Override
    public void close() throws IOException {
        sandbox.destroy();
        machine.close();
    }
}
