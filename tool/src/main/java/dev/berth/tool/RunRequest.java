package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A command to run.
 *
 * @param cwd absolute
 * @param env the call's own variables
 * @param timeout the settings' one if empty
 * @param stdin read to its end and given to the command, which sees the end of file at once if empty
 * @param changes whether to tell which files were created, modified and deleted
 * @param tap hears the output as it comes
 * @param stop ends it before its time
 */
public record RunRequest(
        List<String> argv,
        String cwd,
        Map<String, String> env,
        Optional<Duration> timeout,
        Optional<InputStream> stdin,
        boolean changes,
        OutputTap tap,
        Stop stop) {
    /** An argument has at most 131071 bytes, see execve(2). What is longer is handed over as input. */
    private static final int LONG = 100_000;

    private static final String RUN_STDIN = "IFS= read -r -d '' code; exec </dev/null; eval \"$code\"";

    public RunRequest {
        argv = List.copyOf(argv);
        env = Map.copyOf(env);
    }

    /**
     * A line for bash, of any length. The shell is no login shell: which variables there are is the platform's decision,
     * not that of {@code /etc/profile}.
     */
    public static RunRequest bash(String command, String cwd) {
        if (command.isBlank()) {
            throw SandboxException.invalid("there is no command; say what to run");
        }
        byte[] bytes = command.getBytes(StandardCharsets.UTF_8);
        if (bytes.length < LONG) {
            return argv(List.of("bash", "-c", command), cwd);
        }
        if (command.indexOf('\0') >= 0) {
            throw SandboxException.invalid("the command contains a NUL character, which bash cannot read");
        }
        return argv(List.of("bash", "-c", RUN_STDIN), cwd).withStdin(new ByteArrayInputStream(bytes));
    }

    public static RunRequest argv(List<String> argv, String cwd) {
        return new RunRequest(
                argv, cwd, Map.of(), Optional.empty(), Optional.empty(), false, OutputTap.NONE, new Stop());
    }

    public RunRequest withEnv(Map<String, String> newEnv) {
        return new RunRequest(argv, cwd, newEnv, timeout, stdin, changes, tap, stop);
    }

    public RunRequest withTimeout(Duration newTimeout) {
        return new RunRequest(argv, cwd, env, Optional.of(newTimeout), stdin, changes, tap, stop);
    }

    public RunRequest withStdin(InputStream newStdin) {
        if (stdin.isPresent()) {
            throw SandboxException.invalid("a command of more than " + LONG
                    + " bytes can have no input of its own; write one of the two to a file");
        }
        return new RunRequest(argv, cwd, env, timeout, Optional.of(newStdin), changes, tap, stop);
    }

    public RunRequest withChanges() {
        return new RunRequest(argv, cwd, env, timeout, stdin, true, tap, stop);
    }

    public RunRequest withTap(OutputTap newTap) {
        return new RunRequest(argv, cwd, env, timeout, stdin, changes, newTap, stop);
    }

    public RunRequest withStop(Stop newStop) {
        return new RunRequest(argv, cwd, env, timeout, stdin, changes, tap, newStop);
    }
}
