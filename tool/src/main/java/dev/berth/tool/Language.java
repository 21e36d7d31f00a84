package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.util.Arrays;
import java.util.Locale;

/** A language whose programs may be run. */
public enum Language {
    BASH,
    PYTHON,
    NODE;

    public static Language parse(String name) {
        return Arrays.stream(values())
                .filter(language -> language.toString().equals(name))
                .findFirst()
                .orElseThrow(() -> SandboxException.invalid(
                        "there is no language '" + name + "'; there are bash, python and node"));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
