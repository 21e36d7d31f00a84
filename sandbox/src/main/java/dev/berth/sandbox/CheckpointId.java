package dev.berth.sandbox;

import java.util.regex.Pattern;

/** The name of a checkpoint, made by the provider, unique at it. */
public record CheckpointId(String value) {
    private static final Pattern SHAPE = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

    public CheckpointId {
        if (!SHAPE.matcher(value).matches()) {
            throw SandboxException.invalid("a checkpoint id has 1 to 63 characters of a-z, 0-9 and '-'");
        }
    }

    @Override
    public String toString() {
        return value;
    }
}
