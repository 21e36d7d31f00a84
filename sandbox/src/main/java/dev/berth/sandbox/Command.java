package dev.berth.sandbox;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A program to run in a sandbox. Made with {@link #of(String...)} or {@link #shell(String)} and the {@code with…}
 * methods; checked when it is made.
 *
 * @param argv program and arguments, never a shell string
 * @param env added to the sandbox's variables
 * @param cwd absolute; the user's home if empty
 * @param user a name in the sandbox's {@code /etc/passwd} or {@code uid} or {@code uid:gid}; the template's if empty
 * @param terminal run on a terminal of this size; then everything it prints is stdout
 * @param stdinOpen whether input will be written; otherwise it reads the end of file at once
 * @param tag the caller's name for it, found again in {@link Sandbox#commands()}
 * @param timeout its whole process group is killed after this time; zero for never
 * @param whenFull what happens when nobody reads its output
 */
public record Command(
        List<String> argv,
        Map<String, String> env,
        Optional<String> cwd,
        Optional<String> user,
        Optional<TerminalSize> terminal,
        boolean stdinOpen,
        String tag,
        Duration timeout,
        WhenFull whenFull) {

    /** What becomes of output that nobody reads once the output limit is reached. */
    public enum WhenFull {
        /** The process waits in its write. */
        BLOCK,
        /** The oldest output is forgotten, and the result says so. */
        DROP_OLDEST
    }

    /** The kernel's MAX_ARG_STRLEN: no argument or variable may be longer, see execve(2). */
    private static final int MAX_STRING = 131_071;
    /** Below the kernel's limit of a quarter of the 8 MiB stack, with room for the auxiliary vector. */
    private static final int MAX_TOTAL = 2_000_000;

    private static final int MAX_TAG = 128 + 1 + Long.BYTES;

    public Command {
        argv = List.copyOf(argv);
        env = Map.copyOf(env);
        if (argv.isEmpty() || argv.getFirst().isEmpty()) {
            throw SandboxException.invalid("a command needs a program to run");
        }
        long total = 0;
        for (String argument : argv) {
            total += checkString("an argument of the command", argument);
        }
        total += checkEnv(env);
        if (total > MAX_TOTAL) {
            throw SandboxException.invalid("the command line and environment have " + total
                    + " bytes, Linux takes about " + MAX_TOTAL + "; write the data to a file and pass its path");
        }
        cwd.ifPresent(path -> {
            checkString("the working directory", path);
            if (!path.startsWith("/")) {
                throw SandboxException.invalid("the working directory has to be absolute, not '" + path + "'");
            }
        });
        user.ifPresent(Command::checkUser);
        if (checkString("the tag", tag) > MAX_TAG) {
            throw SandboxException.invalid("the tag has more than 128 bytes");
        }
        if (timeout.isNegative()) {
            throw SandboxException.invalid("the timeout cannot be negative");
        }
    }

    public static Command of(String... argv) {
        return of(List.of(argv));
    }

    public static Command of(List<String> argv) {
        return new Command(
                argv,
                Map.of(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                false,
                "",
                Duration.ZERO,
                WhenFull.BLOCK);
    }

    /** A line for {@code bash -c}: the one place where a shell is asked for, and only inside the sandbox. */
    public static Command shell(String line) {
        return of("bash", "-c", line);
    }

    public Command withEnv(Map<String, String> newEnv) {
        return new Command(argv, newEnv, cwd, user, terminal, stdinOpen, tag, timeout, whenFull);
    }

    public Command withCwd(String path) {
        return new Command(argv, env, Optional.of(path), user, terminal, stdinOpen, tag, timeout, whenFull);
    }

    public Command withUser(String name) {
        return new Command(argv, env, cwd, Optional.of(name), terminal, stdinOpen, tag, timeout, whenFull);
    }

    public Command withTerminal(TerminalSize size) {
        return new Command(argv, env, cwd, user, Optional.of(size), true, tag, timeout, whenFull);
    }

    public Command withStdin() {
        return new Command(argv, env, cwd, user, terminal, true, tag, timeout, whenFull);
    }

    public Command withTag(String newTag) {
        return new Command(argv, env, cwd, user, terminal, stdinOpen, newTag, timeout, whenFull);
    }

    public Command withTimeout(Duration newTimeout) {
        return new Command(argv, env, cwd, user, terminal, stdinOpen, tag, newTimeout, whenFull);
    }

    public Command whenFull(WhenFull policy) {
        return new Command(argv, env, cwd, user, terminal, stdinOpen, tag, timeout, policy);
    }

    /** @throws SandboxException {@code invalid} if it could not be a user */
    public static void checkUser(String name) {
        if (!name.matches("[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}|[0-9]{1,5}(:[0-9]{1,5})?")) {
            throw SandboxException.invalid("the user has to be a name, a uid or uid:gid");
        }
    }

    public static long checkEnv(Map<String, String> env) {
        long total = 0;
        for (Map.Entry<String, String> entry : env.entrySet()) {
            if (entry.getKey().isEmpty() || entry.getKey().indexOf('=') >= 0) {
                throw SandboxException.invalid("the name of an environment variable cannot be empty or contain '='");
            }
            total += checkString("an environment variable", entry.getKey() + "=" + entry.getValue());
        }
        return total;
    }

    private static long checkString(String what, String value) {
        if (value.indexOf('\0') >= 0) {
            throw SandboxException.invalid(what + " contains a NUL character, which Linux cannot pass on");
        }
        long length = value.length() > MAX_STRING ? value.length() : value.getBytes(StandardCharsets.UTF_8).length;
        if (length > MAX_STRING) {
            throw SandboxException.invalid(
                    what + " has " + length + " bytes, Linux takes 131071; write the data to a file and pass its path");
        }
        return length + 1 + Long.BYTES;
    }
}
