package dev.berth.sandbox;

import java.util.regex.Pattern;

/** The name of a sandbox, chosen by whoever creates it, unique at its provider. */
public record SandboxId(String value) {
    private static final Pattern SHAPE = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

    public SandboxId {
        if (!SHAPE.matcher(value).matches()) {
            throw SandboxException.invalid(
                    "a sandbox id has 1 to 63 characters of a-z, 0-9 and '-', and does not start with '-'");
        }
    }

    @Override
    public String toString() {
        return value;
    }
}
