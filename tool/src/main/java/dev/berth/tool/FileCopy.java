package dev.berth.tool;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;

/**
 * Copies many files into the workspace. Each is taken or refused for itself: what would leave the workspace, and what is
 * neither a file nor a directory, is refused and listed, and the rest is copied all the same.
 *
 * <p>A tar stream may come from anybody. Its names are checked as those of any tool, no link in it is made, and it can
 * make the server neither keep its contents in memory nor a header of any length.
 */
public final class FileCopy {
    /** How many errors are told one by one. */
    private static final int MOST_ERRORS = 100;

    private static final int GZIP = 0x1f8b;
    private static final int PERMISSIONS = 0777;
    private static final int SEARCHABLE = 0700;

    private final Workspace workspace;
    private final Limits limits;
    private final List<Refused> errors = new ArrayList<>();
    private int refused;
    private int written;
    private long bytes;
    private Optional<Refused> stopped = Optional.empty();

    private FileCopy(Workspace workspace, Limits limits) {
        this.workspace = workspace;
        this.limits = limits;
    }

    /**
     * How much one copy may bring.
     *
     * @param entries files and directories, with those that are refused
     * @param bytes of all files together
     */
    public record Limits(int entries, long bytes) {
        public static final Limits DEFAULT = new Limits(100_000, 8L << 30);
    }

    /**
     * A file to be made.
     *
     * @param mode its permission bits; 0644, or what the file has, if empty
     */
    public record Source(String path, byte[] bytes, OptionalInt mode) {}

    /** What was not copied, and why. */
    public record Refused(String path, ErrorCode code, String message) {}

    /**
     * What was copied.
     *
     * @param written how many files
     * @param refused how many entries were not copied; {@code errors} has the first of them
     * @param stopped why the rest was not looked at, if that happened
     */
    public record Copied(int written, long bytes, int refused, List<Refused> errors, Optional<Refused> stopped) {}

    public static Copied files(Workspace workspace, List<Source> sources, Limits limits) {
        FileCopy copy = new FileCopy(workspace, limits);
        int entries = 0;
        for (Source source : sources) {
            if (copy.isOver(source.path, ++entries, source.bytes.length)) {
                break;
            }
            copy.attempt(source.path, () -> {
                new FileWrite(source.path, source.bytes, false, source.mode).run(workspace);
                copy.written++;
                copy.bytes += source.bytes.length;
            });
        }
        return copy.done();
    }

    /** @param stream a tar archive, perhaps packed with gzip; it is not closed */
    public static Copied tar(Workspace workspace, InputStream stream, Limits limits) {
        FileCopy copy = new FileCopy(workspace, limits);
        try {
            BudgetInput budget = new BudgetInput(unpacked(stream));
            copy.read(new TarArchiveInputStream(budget, "UTF-8"), budget);
        } catch (IOException | RuntimeException e) {
            if (e instanceof SandboxException known) {
                throw known;
            }
            // The archive reader throws about anything when what it reads makes no sense.
            copy.stopped = Optional.of(new Refused(
                    "",
                    ErrorCode.INVALID,
                    "could not read the archive any further: it is damaged, cut off or no tar archive ("
                            + Texts.cut(String.valueOf(e.getMessage()), 200) + "); make it anew"));
        }
        return copy.done();
    }

    private static InputStream unpacked(InputStream stream) throws IOException {
        BufferedInputStream buffered = new BufferedInputStream(stream, 64 * 1024);
        buffered.mark(2);
        int magic = buffered.read() << 8 | buffered.read();
        buffered.reset();
        return magic == GZIP ? new GZIPInputStream(buffered, 64 * 1024) : buffered;
    }

    private void read(TarArchiveInputStream tar, BudgetInput budget) throws IOException {
        int entries = 0;
        budget.allowHeader();
        for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
            budget.allowContent();
            if (isOver(entry.getName(), ++entries, isPlainFile(entry) ? entry.getSize() : 0)) {
                return;
            }
            copy(entry, tar);
            // What is left of a refused entry goes by here, and not within the next header's budget.
            tar.transferTo(OutputStream.nullOutputStream());
            budget.allowHeader();
        }
    }

    /** Whether nothing more is taken, because of what happened before or because of this entry. */
    private boolean isOver(String path, int entries, long size) {
        if (entries > limits.entries) {
            stop(path, "there are more than " + limits.entries + " entries");
        } else if (size > limits.bytes - bytes) {
            stop(path, "there are more than " + limits.bytes + " bytes");
        }
        return stopped.isPresent();
    }

    private void stop(String path, String why) {
        if (stopped.isEmpty()) {
            String message = "stopped here: " + why + "; copy them in several parts";
            stopped = Optional.of(new Refused(Texts.cut(path, 1000), ErrorCode.LIMIT, message));
        }
    }

    private void copy(TarArchiveEntry entry, InputStream content) {
        String name = entry.getName();
        if (entry.isDirectory()) {
            attempt(name, () -> {
                String path = Workspace.path(name);
                if (workspace.files().makeDirectory(path)) {
                    workspace.files().chmod(path, (entry.getMode() & PERMISSIONS) | SEARCHABLE);
                }
            });
        } else if (isPlainFile(entry)) {
            EntryInput whole = new EntryInput(content);
            attempt(name, () -> {
                String path = Workspace.filePath("copy", name);
                whole.orItsFailure(() -> workspace.files().write(path, whole, entry.getMode() & PERMISSIONS));
                written++;
                bytes += entry.getSize();
            });
        } else {
            refuse(
                    name,
                    ErrorCode.DENIED,
                    "could not copy it: it is a " + kind(entry) + "; only files and directories are taken");
        }
    }

    private static boolean isPlainFile(TarArchiveEntry entry) {
        byte flag = entry.getLinkFlag();
        boolean plain = flag == TarArchiveEntry.LF_NORMAL
                || flag == TarArchiveEntry.LF_OLDNORM
                || flag == TarArchiveEntry.LF_CONTIG;
        return plain && !entry.isSparse();
    }

    private static String kind(TarArchiveEntry entry) {
        if (entry.isSparse()) {
            return "sparse file";
        }
        return switch (entry.getLinkFlag()) {
            case TarArchiveEntry.LF_LINK -> "hard link";
            case TarArchiveEntry.LF_SYMLINK -> "symbolic link";
            case TarArchiveEntry.LF_CHR, TarArchiveEntry.LF_BLK -> "device";
            case TarArchiveEntry.LF_FIFO -> "pipe";
            default -> "special entry";
        };
    }

    /** One file or directory. What concerns the sandbox as a whole is thrown, except that its disk is full. */
    private void attempt(String path, Runnable action) {
        try {
            action.run();
        } catch (SandboxException e) {
            switch (e.code()) {
                case NOT_FOUND, INVALID, DENIED, CONFLICT -> refuse(path, e.code(), e.getMessage());
                case LIMIT -> stopped = Optional.of(new Refused(path, e.code(), e.getMessage()));
                case GONE, UNAVAILABLE, TIMEOUT, UNSUPPORTED -> throw e;
            }
        }
    }

    private void refuse(String path, ErrorCode code, String message) {
        refused++;
        if (errors.size() < MOST_ERRORS) {
            errors.add(new Refused(Texts.cut(path, 1000), code, Texts.cut(message, 1000)));
        }
    }

    private Copied done() {
        return new Copied(written, bytes, refused, List.copyOf(errors), stopped);
    }

    /** An entry of an archive as a stream of its own, which tells a failure of the archive from one of the sandbox. */
    private static final class EntryInput extends FilterInputStream {
        private Optional<IOException> failure = Optional.empty();

        EntryInput(InputStream content) {
            super(content);
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            try {
                return super.read(target, offset, length);
            } catch (IOException e) {
                failure = Optional.of(e);
                throw e;
            }
        }

        void orItsFailure(Runnable use) {
            try {
                use.run();
            } catch (SandboxException e) {
                throw failure.<RuntimeException>map(UncheckedIOException::new).orElse(e);
            }
        }

        @Override
        public void close() {}
    }
}
