package dev.berth.client;

import java.time.Duration;
import java.util.Optional;

/**
 * Code to be executed.
 *
 * @param language python, bash or node
 * @param stateful whether variables and imports are kept for the next call
 */
public record ExecuteCall(String code, String language, boolean stateful, Optional<Duration> timeout) {
    public static ExecuteCall python(String code) {
        return new ExecuteCall(code, "python", false, Optional.empty());
    }

    public static ExecuteCall node(String code) {
        return new ExecuteCall(code, "node", false, Optional.empty());
    }

    public ExecuteCall keepingState() {
        return new ExecuteCall(code, language, true, timeout);
    }

    public ExecuteCall withTimeout(Duration timeout) {
        return new ExecuteCall(code, language, stateful, Optional.of(timeout));
    }

    Json body() {
        return Json.object()
                .with("code", code)
                .with("language", language)
                .with("stateful", stateful)
                .with("timeout", timeout.map(time -> time.toMillis() / 1000.0));
    }
}
