package dev.berth.client;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * A shell command to be run.
 *
 * @param cwd relative to the workspace, which it is if this is empty
 * @param changes whether to tell which files it created, modified and deleted
 */
public record BashCall(
        String command, Optional<Duration> timeout, Optional<String> cwd, Map<String, String> env, boolean changes) {
    public BashCall {
        env = Map.copyOf(env);
    }

    public static BashCall of(String command) {
        return new BashCall(command, Optional.empty(), Optional.empty(), Map.of(), false);
    }

    public BashCall withTimeout(Duration timeout) {
        return new BashCall(command, Optional.of(timeout), cwd, env, changes);
    }

    public BashCall withCwd(String cwd) {
        return new BashCall(command, timeout, Optional.of(cwd), env, changes);
    }

    public BashCall withEnv(Map<String, String> env) {
        return new BashCall(command, timeout, cwd, env, changes);
    }

    public BashCall withChanges() {
        return new BashCall(command, timeout, cwd, env, true);
    }

    Json body() {
        Json body = Json.object()
                .with("command", command)
                .with("timeout", timeout.map(time -> time.toMillis() / 1000.0))
                .with("cwd", cwd);
        body = env.isEmpty() ? body : body.with("env", env);
        return changes ? body.with("changes", true) : body;
    }
}
