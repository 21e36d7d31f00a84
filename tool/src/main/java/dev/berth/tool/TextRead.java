package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/**
 * Reads a page of lines of a text file, in constant memory however large the file and its lines are.
 *
 * <p>The file is gone through once to its end, since only that tells how many lines it has: at the speed of the disk, up
 * to {@link #MOST_COUNTED} bytes.
 *
 * @param path relative to the workspace
 * @param offset the first line wanted, from 1
 * @param limit how many lines at most
 */
public record TextRead(String path, long offset, int limit) {
    public static final int DEFAULT_LIMIT = 2000;
    public static final int MOST_LINES = 100_000;

    /** A sparse file may claim to have 8 EiB; what is behind this is not counted. */
    static final long MOST_COUNTED = 8L << 30;

    private static final int BUFFER = 256 * 1024;

    public TextRead {
        path = Workspace.path(path);
        if (offset < 1) {
            throw SandboxException.invalid("the offset has to be 1 or more, not " + offset + "; 1 is the first line");
        }
        if (limit < 1 || limit > MOST_LINES) {
            throw SandboxException.invalid("the limit has to be 1 to " + MOST_LINES + " lines, not " + limit);
        }
    }

    public static TextRead of(String path) {
        return new TextRead(path, 1, DEFAULT_LIMIT);
    }

    public TextPage run(Workspace workspace) {
        try (InputStream file = FileSource.open(workspace, "read", path)) {
            byte[] head = file.readNBytes(Texts.HEAD);
            Texts.Kind kind = Texts.kind(head);
            InputStream whole = new SequenceInputStream(new ByteArrayInputStream(head), file);
            return switch (kind) {
                case BINARY ->
                    throw SandboxException.invalid("could not read " + path
                            + ": it is not a text file; use read_binary, or a command such as file or xxd");
                case UTF_8 -> page(whole, kind);
                case UTF_16LE -> page(recoded(whole, StandardCharsets.UTF_16LE), kind);
                case UTF_16BE -> page(recoded(whole, StandardCharsets.UTF_16BE), kind);
            };
        } catch (IOException e) {
            throw FileSource.unreadable("read", path, e);
        }
    }

    private static InputStream recoded(InputStream file, Charset charset) {
        return new RecodedInput(file, charset);
    }

    TextPage page(InputStream text, Texts.Kind kind) throws IOException {
        LinePager pager = new LinePager(offset, limit);
        byte[] buffer = new byte[BUFFER];
        long counted = 0;
        for (int n = text.read(buffer); n >= 0 && counted < MOST_COUNTED; n = text.read(buffer)) {
            pager.feed(buffer, n);
            counted += n;
        }
        boolean all = counted < MOST_COUNTED;
        if (!all && !pager.pageEnded()) {
            throw SandboxException.limit("could not read " + path + " from line " + offset + ": that is more than "
                    + (MOST_COUNTED >> 30) + " GiB into the file; use a command such as tail or sed");
        }
        pager.end();
        return new TextPage(
                path,
                pager.content(),
                all ? OptionalLong.of(pager.lines()) : OptionalLong.empty(),
                offset,
                offset + pager.pageLines() - 1,
                !all || pager.lines() > offset + pager.pageLines() - 1,
                pager.truncated(),
                kind.toString());
    }
}
