package dev.berth.bench;

import dev.berth.bench.report.Rendering;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * What to measure and where to put the result.
 *
 * @param templates where templates live
 * @param template what sandboxes start from; {@code base} if that is built, else {@code host}, if empty
 * @param only the names of the measurements wanted, all but those of agents if empty
 */
public record BenchOptions(
        Path templates,
        RuntimeKind runtime,
        Optional<String> template,
        Size size,
        boolean docker,
        Set<String> only,
        Rendering rendering,
        Optional<Path> json) {

    /** How long to look. */
    public enum Size {
        /** Seconds: shows that it works, the numbers mean little. */
        QUICK,
        /** A few minutes. */
        NORMAL,
        /** With as many sandboxes as DESIGN's table asks for. */
        FULL
    }

    public BenchOptions {
        only = Set.copyOf(only);
    }

    public static BenchOptions of(Path templates) {
        return new BenchOptions(
                templates,
                RuntimeKind.CRUN,
                Optional.empty(),
                Size.NORMAL,
                false,
                Set.of(),
                Rendering.TABLE,
                Optional.empty());
    }

    public BenchOptions withTemplate(String name) {
        return new BenchOptions(templates, runtime, Optional.of(name), size, docker, only, rendering, json);
    }

    public BenchOptions withSize(Size newSize) {
        return new BenchOptions(templates, runtime, template, newSize, docker, only, rendering, json);
    }

    public BenchOptions withJson(Path file) {
        return new BenchOptions(templates, runtime, template, size, docker, only, rendering, Optional.of(file));
    }

    public BenchOptions withOnly(Set<String> names) {
        return new BenchOptions(templates, runtime, template, size, docker, names, rendering, json);
    }
}
