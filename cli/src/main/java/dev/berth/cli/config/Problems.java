package dev.berth.cli.config;

import dev.berth.cli.args.Nearest;
import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** What is wrong with the settings, all of it, so that nobody has to find out one by one. */
final class Problems {
    private final List<String> lines = new ArrayList<>();

    /** @param where a variable, an option, or a file and its line */
    void add(String where, String what) {
        lines.add(where + ": " + what);
    }

    void unknown(String where, String name, Collection<String> known) {
        String fix = Nearest.to(name, known)
                .map(nearest -> "did you mean " + nearest + "?")
                .orElse("docs/configuration.md lists those there are");
        add(where, "there is no setting " + name + "; " + fix);
    }

    boolean none() {
        return lines.isEmpty();
    }

    void throwIfAny() {
        if (!lines.isEmpty()) {
            String what = lines.size() == 1 ? "a setting is wrong" : lines.size() + " settings are wrong";
            throw SandboxException.invalid(what + ", so nothing was started:\n  " + String.join("\n  ", lines));
        }
    }
}
