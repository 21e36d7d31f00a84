package dev.berth.tool;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what one ripgrep prints, keeps the page that was asked for, and ends it when there is one result more.
 *
 * <p>With {@code --null} a path ends with a NUL, which no path has in it; so names with newlines or colons do no harm.
 * What comes from the sandbox is bounded whatever it is, for its {@code rg} may be any program.
 */
final class GrepRun {
    private static final int PATH_BYTES = 8192;
    private static final int TEXT_BYTES = 4096;
    private static final int ERROR_BYTES = 4096;
    private static final int PAGE_CHARS = 4 << 20;
    private static final int NO_MATCHES = 1;
    private static final int FAILED = 2;

    private static final Pattern LINE = Pattern.compile("([0-9]{1,18})([:-])(.*)", Pattern.DOTALL);
    /** Printed without a NUL for a binary file that matches, and so read as the beginning of the next path. */
    private static final Pattern BINARY = Pattern.compile("[^\0]*? byte around offset [0-9]+\\)\n");

    private final Grep grep;
    private final Duration timeout;
    private final List<Grep.Line> lines = new ArrayList<>();
    private final List<String> files = new ArrayList<>();
    private final SortedMap<String, Long> counts = new TreeMap<>();
    /** Lines of context that belong to the next match, if any. */
    private final Deque<Grep.Line> before = new ArrayDeque<>();

    private Optional<Grep.Line> last = Optional.empty();
    private int seen;
    private int chars;
    private boolean more;

    GrepRun(Grep grep, Duration timeout) {
        this.grep = grep;
        this.timeout = timeout;
    }

    Grep.Found read(RunningCommand command) {
        try (command) {
            Errors errors = new Errors(command.stderr());
            Thread reader = Thread.ofVirtual().name("grep-errors").start(errors);
            try {
                readResults(new BufferedInputStream(command.stdout()));
            } finally {
                command.signal(Signal.KILL);
            }
            Exit exit = command.await();
            reader.join();
            checkExit(exit, errors.text());
            return found(exit.timedOut());
        } catch (IOException e) {
            throw SandboxException.unavailable("could not search: the output of ripgrep broke off; try again", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("could not search: the server is being stopped; try again", e);
        }
    }

    private void checkExit(Exit exit, String errors) {
        if (more) {
            return;
        }
        if (exit.timedOut() && seen == 0) {
            throw SandboxException.timeout("could not search in " + timeout.toSeconds()
                    + " s: there is too much to look through; give a path or glob that narrows it");
        }
        // Without --no-messages ripgrep also fails for files that it may not read. With it, it says nothing then.
        if (exit.code() == FAILED && !errors.isBlank()) {
            throw SandboxException.invalid("could not search: " + errors.strip()
                    + "; correct the pattern or glob, or set fixed_strings to search for it as it is");
        }
        if (exit.code() > FAILED && !exit.timedOut()) {
            throw SandboxException.unavailable("could not search: ripgrep ended with " + exit.code()
                    + (exit.limitsHit().isEmpty() ? "" : " at a limit of the sandbox: " + exit.limitsHit())
                    + "; narrow the search, or try again");
        }
        if (exit.code() == NO_MATCHES && seen > 0) {
            throw SandboxException.unavailable("could not search: the output of ripgrep makes no sense");
        }
    }

    private Grep.Found found(boolean timedOut) {
        boolean truncated = more || timedOut;
        return new Grep.Found(
                Collections.unmodifiableList(lines),
                Collections.unmodifiableList(files),
                Collections.unmodifiableSortedMap(counts),
                truncated,
                more ? OptionalInt.of(seen) : OptionalInt.empty());
    }

    private void readResults(InputStream out) throws IOException {
        while (!more) {
            Optional<String> path = until(out, '\0', PATH_BYTES).map(GrepRun::shown);
            if (path.isEmpty()) {
                return;
            }
            switch (grep.mode()) {
                case FILES_WITH_MATCHES -> {
                    if (count()) {
                        files.add(path.get());
                    }
                }
                case COUNT -> {
                    String number = until(out, '\n', TEXT_BYTES).orElse("");
                    if (count()) {
                        counts.put(path.get(), number.matches("[0-9]{1,18}") ? Long.parseLong(number) : 0);
                    }
                }
                case CONTENT -> {
                    Matcher line = LINE.matcher(until(out, '\n', TEXT_BYTES).orElse(""));
                    if (line.matches()) {
                        String text = line.group(3);
                        add(new Grep.Line(
                                path.get(),
                                Long.parseLong(line.group(1)),
                                text.endsWith("\r") ? text.substring(0, text.length() - 1) : text,
                                line.group(2).equals("-")));
                    }
                }
            }
        }
    }

    /** Counts a result. @return whether it is on the page */
    private boolean count() {
        if (seen >= grep.offset() + (long) grep.maxResults() || chars > PAGE_CHARS) {
            more = true;
            return false;
        }
        return seen++ >= grep.offset();
    }

    private void add(Grep.Line line) {
        if (line.context()) {
            boolean afterLast = last.isPresent()
                    && last.get().path().equals(line.path())
                    && line.line() <= last.get().line() + grep.contextAfter();
            if (afterLast) {
                keep(line);
            } else {
                before.add(line);
                if (before.size() > grep.contextBefore()) {
                    before.remove();
                }
            }
            return;
        }
        if (count()) {
            before.forEach(this::keep);
            keep(line);
            last = Optional.of(line);
        }
        before.clear();
    }

    private void keep(Grep.Line line) {
        lines.add(line);
        chars += line.path().length() + line.text().length();
    }

    private static String shown(String path) {
        Matcher binary = BINARY.matcher(path);
        String clean = binary.lookingAt() ? path.substring(binary.end()) : path;
        return clean.startsWith("./") ? clean.substring(2) : clean;
    }

    /** The bytes up to a delimiter, or to the end; of many only the first. Empty if there are none any more. */
    private static Optional<String> until(InputStream in, char delimiter, int most) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int next = in.read();
        if (next < 0) {
            return Optional.empty();
        }
        while (next >= 0 && next != delimiter) {
            if (bytes.size() < most) {
                bytes.write(next);
            }
            next = in.read();
        }
        if (next < 0 && delimiter == '\0') {
            return Optional.empty();
        }
        return Optional.of(bytes.toString(StandardCharsets.UTF_8));
    }

    /** Reads the errors to their end, so that nobody waits in writing them, and keeps the first. */
    private static final class Errors implements Runnable {
        private final InputStream stream;
        private final ByteArrayOutputStream kept = new ByteArrayOutputStream();

        Errors(InputStream stream) {
            this.stream = stream;
        }

        @Override
        public void run() {
            byte[] buffer = new byte[ERROR_BYTES];
            try (stream) {
                for (int n = stream.read(buffer); n >= 0; n = stream.read(buffer)) {
                    kept.write(buffer, 0, Math.min(n, ERROR_BYTES - kept.size()));
                }
            } catch (IOException e) {
                // The command's end tells what happened.
                kept.reset();
            }
        }

        String text() {
            return kept.toString(StandardCharsets.UTF_8);
        }
    }
}
