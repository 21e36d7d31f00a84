package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * What the calls of one session may do.
 *
 * @param timeout for a call that does not say
 * @param longestTimeout what a call may ask for
 * @param outputBytes how much of each stream a result has; the rest stays readable by the result's output id
 * @param languages which languages may be run. It is advice to a model, not a boundary
 * @param env variables of every call, beneath the call's own
 * @param readOnly whether writing is refused
 */
public record ToolSettings(
        Duration timeout,
        Duration longestTimeout,
        int outputBytes,
        Set<Language> languages,
        Map<String, String> env,
        boolean readOnly) {

    public static final ToolSettings DEFAULT = new ToolSettings(
            Duration.ofSeconds(30), Duration.ofSeconds(600), 65_536, EnumSet.allOf(Language.class), Map.of(), false);

    public ToolSettings {
        languages = Set.copyOf(languages);
        env = Map.copyOf(env);
        if (outputBytes < 1024 || outputBytes > 1 << 20) {
            throw SandboxException.invalid("the output limit has to be 1024 to 1048576 bytes, not " + outputBytes);
        }
    }

    /** Refuses whatever could write. */
    public void requireWritable() {
        if (readOnly) {
            throw SandboxException.denied(
                    "this workspace is read-only, so nothing can be run or written in it; read, glob and grep work");
        }
    }

    public ToolSettings asReadOnly() {
        return new ToolSettings(timeout, longestTimeout, outputBytes, languages, env, true);
    }

    public ToolSettings withTimeouts(Duration usual, Duration longest) {
        return new ToolSettings(usual, longest, outputBytes, languages, env, readOnly);
    }
}
