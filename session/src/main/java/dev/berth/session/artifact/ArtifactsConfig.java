package dev.berth.session.artifact;

import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * What becomes an artifact, and for how long.
 *
 * @param directory where the content is kept
 * @param folders relative to the workspace; what lies in the first is found first
 * @param retention how long each is kept
 */
public record ArtifactsConfig(Path directory, List<String> folders, Duration retention) {
    public static final List<String> FOLDERS = List.of("output/display", "output");
    public static final Duration RETENTION = Duration.ofDays(30);

    private static final int MOST_FOLDERS = 16;

    public ArtifactsConfig {
        folders = List.copyOf(folders);
        if (folders.size() > MOST_FOLDERS) {
            throw SandboxException.invalid("there can be " + MOST_FOLDERS + " folders for artifacts at most");
        }
        folders.forEach(ArtifactsConfig::check);
        if (retention.isNegative() || retention.isZero()) {
            throw SandboxException.invalid("artifacts have to be kept for some time");
        }
    }

    public static ArtifactsConfig in(Path directory) {
        return new ArtifactsConfig(directory, FOLDERS, RETENTION);
    }

    private static void check(String folder) {
        boolean plain = folder.matches("[^/\\p{Cntrl}]+(/[^/\\p{Cntrl}]+)*")
                && Arrays.stream(folder.split("/")).noneMatch(part -> part.equals(".") || part.equals(".."));
        if (!plain) {
            throw SandboxException.invalid("'" + folder + "' cannot be a folder for artifacts; give a path relative to"
                    + " the workspace, such as output/display");
        }
    }
}
