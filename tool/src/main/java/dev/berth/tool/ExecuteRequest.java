package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Code to run.
 *
 * @param cwd absolute; of code whose state is kept, where its interpreter starts
 * @param env the call's own variables
 * @param timeout the settings' one if empty
 * @param context whose state to go on with; none if empty, then the code starts from nothing and leaves nothing
 * @param changes whether to tell which files were created, modified and deleted
 * @param tap hears the output as it comes
 */
public record ExecuteRequest(
        Language language,
        String code,
        String cwd,
        Map<String, String> env,
        Optional<Duration> timeout,
        Optional<String> context,
        boolean changes,
        OutputTap tap) {
    public static final String DEFAULT_CONTEXT = "default";

    private static final int LONGEST = 1 << 20;
    private static final Pattern CONTEXT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}");

    public ExecuteRequest {
        env = Map.copyOf(env);
        int length = code.getBytes(StandardCharsets.UTF_8).length;
        if (length > LONGEST) {
            throw SandboxException.invalid(
                    "the code has " + length + " bytes, " + LONGEST + " are the most; write it to a file and run that");
        }
        context.filter(name -> !CONTEXT.matcher(name).matches()).ifPresent(name -> {
            throw SandboxException.invalid("a context is named with 1 to 64 characters of A-Z, a-z, 0-9 and _ . -");
        });
        if (context.isPresent() && !env.isEmpty()) {
            throw SandboxException.invalid(
                    "code whose state is kept has the variables of its interpreter; set them in the code");
        }
    }

    public static ExecuteRequest of(Language language, String code, String cwd) {
        return new ExecuteRequest(
                language, code, cwd, Map.of(), Optional.empty(), Optional.empty(), false, OutputTap.NONE);
    }

    public ExecuteRequest withEnv(Map<String, String> newEnv) {
        return new ExecuteRequest(language, code, cwd, newEnv, timeout, context, changes, tap);
    }

    public ExecuteRequest withTimeout(Duration newTimeout) {
        return new ExecuteRequest(language, code, cwd, env, Optional.of(newTimeout), context, changes, tap);
    }

    public ExecuteRequest stateful() {
        return inContext(DEFAULT_CONTEXT);
    }

    public ExecuteRequest inContext(String name) {
        return new ExecuteRequest(language, code, cwd, env, timeout, Optional.of(name), changes, tap);
    }

    public ExecuteRequest withChanges() {
        return new ExecuteRequest(language, code, cwd, env, timeout, context, true, tap);
    }

    public ExecuteRequest withTap(OutputTap newTap) {
        return new ExecuteRequest(language, code, cwd, env, timeout, context, changes, newTap);
    }
}
