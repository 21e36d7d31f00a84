package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.client.Artifact;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/** {@code berth artifacts}. */
final class ArtifactCommand {
    private static final Option<Path> SAVE =
            Option.of("--save", "DIR", "Save them into this directory; files that are there are kept.", Path::of);

    private ArtifactCommand() {}

    static Subcommand command() {
        return RemoteCommand.of(
                "artifacts",
                "List files that runs in a session made for people to see.",
                "KEY",
                ONE,
                List.of(SAVE),
                List.of("artifacts demo", "artifacts demo --save ./results"),
                ArtifactCommand::run);
    }

    private static int run(Remote remote) {
        List<Artifact> artifacts = remote.session().artifacts();
        Instant now = Instant.now();
        Table table = new Table("ID", "NAME", "KIND", "TYPE", "SIZE", "AGE");
        for (Artifact artifact : artifacts) {
            table.add(
                    artifact.id(),
                    Remote.plain(artifact.name()),
                    artifact.kind(),
                    Remote.plain(artifact.mimeType()),
                    Sizes.format(artifact.size()),
                    Remote.age(artifact.createdAt(), now));
        }
        remote.show("artifacts", artifacts.stream().map(Artifact::json).toList(), table);
        remote.arguments().get(SAVE).ifPresent(directory -> save(remote, artifacts, directory));
        return 0;
    }

    private static void save(Remote remote, List<Artifact> artifacts, Path directory) {
        try {
            Files.createDirectories(directory);
            for (Artifact artifact : artifacts) {
                Path to = CopyCommand.inside(directory, artifact.name().replace('/', '_'));
                if (Files.exists(to)) {
                    to = CopyCommand.inside(
                            directory, artifact.id() + "-" + artifact.name().replace('/', '_'));
                }
                if (!Files.exists(to)) {
                    try (InputStream content = remote.berth().artifacts().content(artifact.id(), 0)) {
                        Files.copy(content, to);
                    }
                }
            }
        } catch (IOException e) {
            throw SandboxException.unavailable("could not save: " + e, e);
        }
    }
}
