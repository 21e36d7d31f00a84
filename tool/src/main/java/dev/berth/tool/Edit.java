package dev.berth.tool;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Replaces a piece of a text file by another, both taken literally.
 *
 * <p>The file is searched and put together as bytes, so what is not touched stays as it is, also if it is not UTF-8.
 * Models write a newline for every line end. So in a file with carriage returns, an old text without any matches both
 * kinds of line ends, and the new text gets the line ends of the place it goes to. An old text that has carriage returns
 * itself is meant as it is, and then the new one is too.
 *
 * <p>The file is replaced at once and keeps its mode and owner. Two edits of one file by this server wait for one
 * another; if somebody else changes it meanwhile, the edit is refused.
 *
 * @param path relative to the workspace
 */
public record Edit(String path, String oldString, String newString, boolean replaceAll) {
    /** Detail: {@code old_string_empty}, {@code strings_identical}, {@code old_string_not_found} or {@code …_not_unique}. */
    public static final String REASON = "reason";
    /** Detail of {@code old_string_not_unique}: how often it is there. */
    public static final String MATCHES = "matches";

    static final int MOST_BYTES = 50 << 20;

    private static final int MOST_BYTES_AFTER = 2 * MOST_BYTES;
    private static final int LINES_TOLD = 5;
    private static final Pattern NUMBERED = Pattern.compile("(?: *[0-9]+\t[^\n]*\n?)+");

    /** Edits of one file have the same lock; those of some others have it by chance. */
    private static final Lock[] LOCKS = new Lock[64];

    static {
        Arrays.setAll(LOCKS, _ -> new ReentrantLock());
    }

    public Edit {
        path = Workspace.filePath("edit", path);
        if (oldString.isEmpty()) {
            throw SandboxException.invalid("could not edit " + path
                            + ": old_string is empty; give the text to replace, or use write to make a new file")
                    .with(REASON, "old_string_empty");
        }
        if (oldString.equals(newString)) {
            throw SandboxException.invalid("could not edit " + path
                            + ": old_string and new_string are the same; give the text as it should be as new_string")
                    .with(REASON, "strings_identical");
        }
    }

    /**
     * What was done.
     *
     * @param snippet the first change with the lines around it, in the manner of a unified diff
     */
    public record Edited(String path, int replacements, String snippet) {}

    public Edited run(Workspace workspace) {
        byte[] wanted = FileWrite.Encoding.UTF_8.decode(oldString);
        byte[] replacement = FileWrite.Encoding.UTF_8.decode(newString);
        Lock lock = LOCKS[Math.floorMod(31 * workspace.sandbox().id().hashCode() + path.hashCode(), LOCKS.length)];
        lock.lock();
        try {
            return edit(workspace, wanted, replacement);
        } finally {
            lock.unlock();
        }
    }

    private Edited edit(Workspace workspace, byte[] wanted, byte[] replacement) {
        FileInfo state = FileSource.stat(workspace, "edit", path);
        byte[] before = read(workspace);
        boolean literal = oldString.indexOf('\r') >= 0 || !hasReturns(before);
        Occurrences occurrences =
                new Occurrences(wanted, literal ? Occurrences.Ignoring.NOTHING : Occurrences.Ignoring.RETURNS);
        Places places = new Places();
        occurrences.in(before, places);
        if (places.count == 0) {
            throw SandboxException.conflict(
                            "could not edit " + path + ": old_string is not in the file; " + whatToDo(before, wanted))
                    .with(REASON, "old_string_not_found");
        }
        if (places.count > 1 && !replaceAll) {
            throw SandboxException.conflict("could not edit " + path + ": old_string is there " + places.count
                            + " times, " + places.lines(before)
                            + "; add lines around it until it is unique, or set replace_all to replace them all")
                    .with(REASON, "old_string_not_unique")
                    .with(MATCHES, places.count);
        }
        byte[] withReturns = literal ? replacement : withReturns(replacement);
        checkSize(before, wanted, withReturns, places.count);
        Result result = new Result(before, occurrences, literal, replacement, withReturns);
        FileInfo now = workspace.files().stat(path);
        if (!now.modifiedAt().equals(state.modifiedAt()) || now.size() != state.size()) {
            throw SandboxException.conflict("could not edit " + path
                    + ": something in the sandbox changed it meanwhile; read it again and repeat the edit");
        }
        workspace.files().write(path, new ByteArrayInputStream(result.bytes));
        return new Edited(
                path, places.count, Snippet.of(before, places.start, places.end, result.bytes, result.firstEnd));
    }

    private byte[] read(Workspace workspace) {
        try (InputStream file = FileSource.open(workspace, "edit", path)) {
            byte[] bytes = file.readNBytes(MOST_BYTES + 1);
            if (bytes.length > MOST_BYTES) {
                throw SandboxException.limit("could not edit " + path + ": it has more than " + MOST_BYTES
                        + " bytes; use a command such as sed");
            }
            if (Texts.kind(Arrays.copyOf(bytes, Math.min(bytes.length, Texts.HEAD))) != Texts.Kind.UTF_8) {
                throw SandboxException.invalid("could not edit " + path
                        + ": it is not a text file in UTF-8; use a command or a program to change it");
            }
            return bytes;
        } catch (IOException e) {
            throw FileSource.unreadable("edit", path, e);
        }
    }

    private void checkSize(byte[] before, byte[] wanted, byte[] replacement, int count) {
        long size = before.length + count * (long) Math.max(0, replacement.length - wanted.length);
        if (size > MOST_BYTES_AFTER) {
            throw SandboxException.limit(
                    "could not edit " + path + ": it would have about " + size + " bytes; use a command such as sed");
        }
    }

    private String whatToDo(byte[] text, byte[] wanted) {
        if (NUMBERED.matcher(oldString).matches()) {
            return "leave out the line numbers and tabs that read puts before each line";
        }
        if (Occurrences.Ignoring.WHITE_SPACE.without(wanted).length > 0) {
            Places similar = new Places();
            new Occurrences(wanted, Occurrences.Ignoring.WHITE_SPACE).in(text, similar);
            if (similar.count > 0) {
                return "it is there with other white space (indentation, tabs or line ends), " + similar.lines(text)
                        + ": read those lines and copy them exactly";
            }
        }
        return "read the file again and copy the text exactly";
    }

    private static boolean hasReturns(byte[] text) {
        for (int i = 0; i + 1 < text.length; i++) {
            if (text[i] == '\r' && text[i + 1] == '\n') {
                return true;
            }
        }
        return false;
    }

    private static byte[] withReturns(byte[] text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length + 16);
        for (int i = 0; i < text.length; i++) {
            if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) {
                out.write('\r');
            }
            out.write(text[i]);
        }
        return out.toByteArray();
    }

    /** Counts occurrences, and remembers the first one and where the next few begin. */
    private static final class Places implements Occurrences.Found {
        private final List<Integer> starts = new ArrayList<>();
        private int count;
        private int start;
        private int end;

        @Override
        public void at(int foundStart, int foundEnd) {
            if (count++ == 0) {
                start = foundStart;
                end = foundEnd;
            }
            if (starts.size() < LINES_TOLD) {
                starts.add(foundStart);
            }
        }

        String lines(byte[] text) {
            String numbers =
                    starts.stream().map(at -> "" + Snippet.line(text, at)).collect(Collectors.joining(", "));
            return (starts.size() == 1 ? "at line " : "at lines ") + numbers + (count > starts.size() ? ", …" : "");
        }
    }

    /** The file as it will be. */
    private static final class Result implements Occurrences.Found {
        private final byte[] before;
        private final boolean literal;
        private final byte[] replacement;
        private final byte[] withReturns;
        private final ByteArrayOutputStream out;
        private int copied;
        private int firstEnd = -1;
        final byte[] bytes;

        Result(byte[] before, Occurrences occurrences, boolean literal, byte[] replacement, byte[] withReturns) {
            this.before = before;
            this.literal = literal;
            this.replacement = replacement;
            this.withReturns = withReturns;
            this.out = new ByteArrayOutputStream(before.length + withReturns.length);
            occurrences.in(before, this);
            out.write(before, copied, before.length - copied);
            this.bytes = out.toByteArray();
        }

        @Override
        public void at(int start, int end) {
            out.write(before, copied, start - copied);
            byte[] chosen = literal || !returnsAt(start) ? replacement : withReturns;
            out.write(chosen, 0, chosen.length);
            copied = end;
            if (firstEnd < 0) {
                firstEnd = out.size();
            }
        }

        /** Whether the line end at or after a place has a carriage return; at the end of the file, the one before. */
        private boolean returnsAt(int start) {
            for (int i = start; i < before.length; i++) {
                if (before[i] == '\n') {
                    return i > 0 && before[i - 1] == '\r';
                }
            }
            for (int i = start - 1; i > 0; i--) {
                if (before[i] == '\n') {
                    return before[i - 1] == '\r';
                }
            }
            return false;
        }
    }
}
