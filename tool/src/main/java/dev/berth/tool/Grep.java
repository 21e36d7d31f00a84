package dev.berth.tool;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.stream.Collectors;

/**
 * Searches the contents of files, with the ripgrep that the sandbox has. As that does by itself, it leaves out binary and
 * hidden files and what {@code .gitignore} says, and follows no links.
 *
 * <p>Results come in the order of their paths, so that a search can go on at an offset.
 *
 * @param pattern a regular expression in ripgrep's syntax
 * @param path a file or directory, relative to the workspace
 * @param glob which files to search, such as {@code *.py} or {@code !*.min.js}
 * @param contextBefore how many lines before each matching one are shown, in mode content
 * @param maxResults how many matching lines, or files, are wanted at most
 * @param offset how many of them to leave out first
 * @param fixedStrings whether the pattern is a text and no expression
 * @param multiline whether a match may go over several lines, and {@code .} means a newline too
 */
public record Grep(
        String pattern,
        String path,
        Optional<String> glob,
        Mode mode,
        boolean caseInsensitive,
        int contextBefore,
        int contextAfter,
        int maxResults,
        int offset,
        boolean fixedStrings,
        boolean multiline) {
    public static final int DEFAULT_RESULTS = 100;
    public static final int MOST_RESULTS = 10_000;
    public static final int MOST_CONTEXT = 50;
    public static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** ripgrep is told to cut longer lines itself, so that a huge one is never sent. */
    private static final int LINE_BYTES = 2000;

    private static final int MOST_PATTERN = 10_000;

    public Grep {
        path = Workspace.path(path);
        if (pattern.isEmpty() || pattern.length() > MOST_PATTERN || pattern.indexOf('\0') >= 0) {
            throw SandboxException.invalid("the pattern has to have 1 to " + MOST_PATTERN
                    + " characters and no NUL; give a regular expression such as 'TODO|FIXME'");
        }
        if (glob.isPresent() && (glob.get().isEmpty() || glob.get().indexOf('\0') >= 0)) {
            throw SandboxException.invalid("the glob is empty or has a NUL in it; give one such as '*.py', or none");
        }
        if (contextBefore < 0 || contextBefore > MOST_CONTEXT || contextAfter < 0 || contextAfter > MOST_CONTEXT) {
            throw SandboxException.invalid("context has to be 0 to " + MOST_CONTEXT + " lines");
        }
        if (maxResults < 1 || maxResults > MOST_RESULTS) {
            throw SandboxException.invalid("max_results has to be 1 to " + MOST_RESULTS + ", not " + maxResults);
        }
        if (offset < 0) {
            throw SandboxException.invalid("the offset has to be 0 or more, not " + offset);
        }
    }

    /** What is told of what was found. */
    public enum Mode {
        CONTENT,
        FILES_WITH_MATCHES,
        COUNT;

        public static Mode parse(String name) {
            return switch (name) {
                case "content" -> CONTENT;
                case "files_with_matches" -> FILES_WITH_MATCHES;
                case "count" -> COUNT;
                default ->
                    throw SandboxException.invalid("there is no output mode '" + Texts.cut(name, 50)
                            + "'; use content, files_with_matches or count");
            };
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public static Grep of(String pattern) {
        return new Grep(
                pattern,
                Workspace.TOP,
                Optional.empty(),
                Mode.FILES_WITH_MATCHES,
                false,
                0,
                0,
                DEFAULT_RESULTS,
                0,
                false,
                false);
    }

    public Grep in(String newPath) {
        return new Grep(
                pattern,
                newPath,
                glob,
                mode,
                caseInsensitive,
                contextBefore,
                contextAfter,
                maxResults,
                offset,
                fixedStrings,
                multiline);
    }

    public Grep showing(Mode newMode) {
        return new Grep(
                pattern,
                path,
                glob,
                newMode,
                caseInsensitive,
                contextBefore,
                contextAfter,
                maxResults,
                offset,
                fixedStrings,
                multiline);
    }

    public Grep page(int newOffset, int newMaxResults) {
        return new Grep(
                pattern,
                path,
                glob,
                mode,
                caseInsensitive,
                contextBefore,
                contextAfter,
                newMaxResults,
                newOffset,
                fixedStrings,
                multiline);
    }

    /**
     * One line.
     *
     * @param context whether it is only shown because it is near one that matches
     */
    public record Line(String path, long line, String text, boolean context) {}

    /**
     * What was found: lines, files or counts, as the mode asks.
     *
     * @param truncated whether there is more
     * @param nextOffset where to go on, if there is more
     */
    public record Found(
            List<Line> matches,
            List<String> files,
            SortedMap<String, Long> counts,
            boolean truncated,
            OptionalInt nextOffset) {

        /** For a model: as ripgrep prints it, and what to do to see the rest. */
        public String text(boolean lineNumbers) {
            List<String> lines = new ArrayList<>();
            for (Line match : matches) {
                String mark = match.context ? "-" : ":";
                lines.add(match.path + mark + (lineNumbers ? match.line + mark : "") + match.text);
            }
            lines.addAll(files);
            counts.forEach((file, count) -> lines.add(file + ":" + count));
            if (lines.isEmpty()) {
                lines.add("No matches found");
            }
            nextOffset.ifPresent(next -> lines.add("[there are more; go on with offset " + next + "]"));
            return lines.stream().collect(Collectors.joining("\n", "", "\n"));
        }
    }

    public Found run(Workspace workspace) {
        return run(workspace, TIMEOUT);
    }

    public Found run(Workspace workspace, Duration timeout) {
        checkInside(workspace);
        Command command = Command.of(arguments())
                .withEnv(Map.of("RIPGREP_CONFIG_PATH", ""))
                .withCwd(workspace.directory())
                .withTimeout(timeout);
        try {
            return new GrepRun(this, timeout).read(workspace.sandbox().start(command));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw new SandboxException(
                        ErrorCode.UNSUPPORTED,
                        "could not search: there is no ripgrep (rg) in this sandbox, so trying again does not help; use"
                                + " a sandbox of the template 'base', which has it, or grep -rn in a command",
                        e);
            }
            throw e;
        }
    }

    /** ripgrep would follow a link that it is given by name; so it is not given one that leads outside. */
    private void checkInside(Workspace workspace) {
        try {
            var _ = workspace.files().within(path).stat(Workspace.TOP);
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
            // No directory: then it is a file, or nothing.
            try (InputStream _ = FileSource.open(workspace, "search", path)) {
                return;
            } catch (IOException closing) {
                throw FileSource.unreadable("search", path, closing);
            }
        }
    }

    private List<String> arguments() {
        List<String> arguments = new ArrayList<>(List.of(
                "rg",
                "--no-config",
                "--no-messages",
                "--no-ignore-global",
                "--no-follow",
                "--color=never",
                "--sort=path",
                "--null",
                "--with-filename"));
        switch (mode) {
            case FILES_WITH_MATCHES -> arguments.add("--files-with-matches");
            case COUNT -> arguments.add("--count");
            case CONTENT ->
                arguments.addAll(List.of(
                        "--line-number",
                        "--no-heading",
                        "--no-context-separator",
                        "--max-columns=" + LINE_BYTES,
                        "--max-columns-preview",
                        "--before-context=" + contextBefore,
                        "--after-context=" + contextAfter));
        }
        glob.ifPresent(files -> arguments.add("--glob=" + files));
        if (caseInsensitive) {
            arguments.add("--ignore-case");
        }
        if (fixedStrings) {
            arguments.add("--fixed-strings");
        }
        if (multiline) {
            arguments.addAll(List.of("--multiline", "--multiline-dotall"));
        }
        arguments.addAll(List.of("--", pattern, path));
        return arguments;
    }
}
