package dev.berth.cli;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.client.CopyResult;
import dev.berth.client.FoundFiles;
import dev.berth.client.Json;
import dev.berth.client.SessionClient;
import dev.berth.sandbox.SandboxException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** {@code berth cp}: files into a session and out of it. */
final class CopyCommand {
    private static final Option<Boolean> RECURSIVE =
            Option.flag("-r, --recursive", "Directories with all that is in them.");

    /** A file of a session. */
    record Place(String session, String path) {
        /**
         * What {@code KEY:path} means. A key may have colons, so the last one counts; a path that has one begins with
         * {@code ./}. Empty for what is a file here.
         */
        static Optional<Place> parse(String operand) {
            if (operand.startsWith(".") || operand.startsWith("/") || operand.indexOf(':') < 1) {
                return Optional.empty();
            }
            int dotted = operand.indexOf(":./");
            int colon = dotted > 0 ? dotted : operand.lastIndexOf(':');
            String path = operand.substring(colon + 1);
            while (path.startsWith("./")) {
                path = path.substring(2);
            }
            return Optional.of(new Place(operand.substring(0, colon), path));
        }
    }

    private CopyCommand() {}

    static Subcommand command() {
        return RemoteCommand.of(
                "cp",
                "Copy files into a session or out of it. '-' is standard input or output.",
                "FROM TO",
                new Operands(2, 2, false),
                List.of(RECURSIVE),
                List.of(
                        "cp data.csv demo:data.csv",
                        "cp demo:out/report.pdf .",
                        "cp -r src demo:src",
                        "cp -r demo:out ./out",
                        "cp slack:C123:1712.0001:notes.txt -"),
                CopyCommand::run);
    }

    private static int run(Remote remote) {
        Optional<Place> from = Place.parse(remote.operand(0));
        Optional<Place> to = Place.parse(remote.operand(1));
        if (from.isPresent() == to.isPresent()) {
            throw new UsageException(
                    "one of the two has to be KEY:path, and the other a file here; a file here whose name"
                            + " has a colon begins with ./");
        }
        boolean recursive = remote.arguments().has(RECURSIVE);
        try {
            Json done = from.isPresent()
                    ? out(
                            remote.berth().session(from.get().session()),
                            from.get().path(),
                            remote.operand(1),
                            recursive)
                    : in(remote, to.orElseThrow(), remote.operand(0), recursive);
            if (remote.json()) {
                remote.print(done);
            }
            return done.get("errors").items().isEmpty() ? 0 : ExitCodes.of(dev.berth.sandbox.ErrorCode.DENIED);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not copy: " + e, e);
        }
    }

    // ---- into a session ------------------------------------------------------------------------------------------

    private static Json in(Remote remote, Place to, String operand, boolean recursive) throws IOException {
        SessionClient session = remote.berth().session(to.session());
        if (operand.equals("-")) {
            session.upload(
                    named(to.path(), "a name for what comes by standard input"),
                    new FileInputStream(FileDescriptor.in));
            return Json.object().with("path", to.path());
        }
        Path from = Path.of(operand);
        if (!Files.exists(from)) {
            throw SandboxException.notFound("there is no file " + from);
        } else if (!Files.isDirectory(from)) {
            String name = String.valueOf(from.toAbsolutePath().getFileName());
            String path = to.path().isEmpty() || to.path().endsWith("/") ? to.path() + name : to.path();
            session.upload(path, from);
            return Json.object().with("path", path);
        } else if (!recursive) {
            throw new UsageException(from + " is a directory; -r copies it with all that is in it");
        }
        CopyResult result = Tar.of(from, to.path(), session::copy);
        result.errors().forEach(error -> remote.console().say(Remote.plain(error)));
        result.stopped().ifPresent(why -> remote.console().say(Remote.plain(why)));
        return result.json();
    }

    private static String named(String path, String what) {
        if (path.isEmpty() || path.endsWith("/")) {
            throw new UsageException("the path needs " + what);
        }
        return path;
    }

    // ---- out of a session ----------------------------------------------------------------------------------------

    private static Json out(SessionClient session, String path, String operand, boolean recursive) throws IOException {
        if (recursive) {
            return outAll(session, path, Path.of(operand));
        }
        named(path, "a name; -r copies a directory with all that is in it");
        try (InputStream content = session.download(path)) {
            if (operand.equals("-")) {
                FileOutputStream out = new FileOutputStream(FileDescriptor.out);
                content.transferTo(out);
                return Json.object().with("path", path);
            }
            Path to = Path.of(operand);
            String name = path.substring(path.lastIndexOf('/') + 1);
            return save(content, Files.isDirectory(to) ? inside(to, name) : to);
        }
    }

    /** Each file by itself, and no links: what a session holds cannot make a file here where it was not asked for. */
    private static Json outAll(SessionClient session, String path, Path to) throws IOException {
        String directory = path.replaceAll("/+$", "");
        List<String> saved = new ArrayList<>();
        Optional<Integer> offset = Optional.of(0);
        while (offset.isPresent()) {
            Json request = Json.object()
                    .with("pattern", "**")
                    .with("path", directory.isEmpty() ? "." : directory)
                    .with("include_hidden", true)
                    .with("max_results", 10_000)
                    .with("sort_by", "path")
                    .with("offset", offset);
            FoundFiles found = session.glob(request);
            for (FoundFiles.Found file : found.files()) {
                String below = file.path();
                if (!directory.isEmpty() && below.startsWith(directory + "/")) {
                    below = below.substring(directory.length() + 1);
                }
                Path target = inside(to, below);
                Files.createDirectories(target.toAbsolutePath().getParent());
                try (InputStream content = session.download(file.path())) {
                    save(content, target);
                }
                saved.add(target.toString());
            }
            offset = found.nextOffset().filter(next -> !found.files().isEmpty());
        }
        if (saved.isEmpty()) {
            throw SandboxException.notFound("there are no files in '" + path + "' of the session");
        }
        return Json.object().with("files", saved);
    }

    /** Below a directory, whatever a name from a session says. */
    static Path inside(Path directory, String name) {
        Path target = directory.resolve(name).normalize();
        if (name.isEmpty()
                || Path.of(name).isAbsolute()
                || Path.of(name).normalize().startsWith("..")
                || target.equals(directory.normalize())) {
            throw SandboxException.denied("the session has a file called '" + Remote.plain(name)
                    + "', which would be saved outside of " + directory);
        }
        return target;
    }

    /** The old file is there until all of the new one is. */
    private static Json save(InputStream content, Path to) throws IOException {
        Path directory = to.toAbsolutePath().getParent();
        if (directory == null || !Files.isDirectory(directory)) {
            throw SandboxException.notFound("there is no directory " + directory + "; make it first");
        }
        Path partial = Files.createTempFile(directory, ".berth-", ".partial");
        try {
            Files.copy(content, partial, StandardCopyOption.REPLACE_EXISTING);
            Files.move(partial, to, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(partial);
        }
        return Json.object().with("file", to.toString());
    }
}
