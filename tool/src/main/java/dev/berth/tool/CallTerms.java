package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What a call asked for, brought together with what its settings allow. */
final class CallTerms {
    /** Found in the environment of everything that a call started, and in nothing else. */
    static final String MARK = "BERTH_CALL";

    private static final Set<String> RESERVED = Set.of("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", MARK);

    private CallTerms() {}

    static void checkLanguage(ToolSettings settings, Language language) {
        if (!settings.languages().contains(language)) {
            throw SandboxException.denied(
                    language + " is not allowed here; allowed are " + names(settings.languages()));
        }
    }

    static String names(Set<Language> languages) {
        return languages.isEmpty()
                ? "none"
                : languages.stream().sorted().map(Language::toString).collect(Collectors.joining(", "));
    }

    static Duration timeout(ToolSettings settings, Optional<Duration> asked) {
        Duration timeout = asked.orElse(settings.timeout());
        if (timeout.compareTo(settings.longestTimeout()) > 0) {
            throw SandboxException.invalid("a timeout of " + timeout.toSeconds() + " s is too long; "
                    + settings.longestTimeout().toSeconds() + " s is the longest. Let work that takes longer run in the"
                    + " background, and look at it later");
        }
        if (!timeout.isPositive()) {
            throw SandboxException.invalid("the timeout has to be more than 0 s");
        }
        return timeout;
    }

    /**
     * The variables of a call: the settings' beneath its own, both beneath the platform's. A reserved one in the settings,
     * which whoever calls did not write, is passed over; one in the call is refused, so that nobody waits for its effect.
     */
    static Map<String, String> env(ToolSettings settings, Map<String, String> own, String mark) {
        own.keySet().stream().filter(RESERVED::contains).sorted().findFirst().ifPresent(name -> {
            throw SandboxException.invalid(
                    "the variable " + name + " is the platform's own; set it inside of the command instead");
        });
        Map<String, String> env = new HashMap<>(settings.env());
        env.keySet().removeAll(RESERVED);
        env.putAll(own);
        env.put(MARK, mark);
        return env;
    }
}
