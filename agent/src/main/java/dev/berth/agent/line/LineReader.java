package dev.berth.agent.line;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/**
 * Reads lines as bytes, and tells where each one ended. Only a line feed ends a line: other characters that Unicode takes
 * for the end of one may stand inside a record.
 *
 * <p>The stream is marked behind lines that are {@linkplain #done worked off}, and nowhere else, so that the sandbox keeps
 * the others in case that this server is killed. A line that is longer than the sandbox keeps is read all the same; that
 * one can be lost then.
 */
public final class LineReader {
    /** What the sandbox keeps behind a mark. */
    private static final int HELD = 64 << 10;

    private static final int CHUNK = 16 << 10;

    private final InputStream in;
    private final int longest;
    private final byte[] chunk = new byte[CHUNK];
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private int next;
    private int end;
    private long position;
    private int sinceMark;
    private boolean tooLong;

    public LineReader(InputStream in, long position, int longest) {
        this.in = in.markSupported() ? in : new BufferedInputStream(in);
        this.position = position;
        this.longest = longest;
        this.in.mark(HELD);
    }

    /** The next line without its end, empty at the end of the stream. A line that is too long is passed over. */
    public Optional<byte[]> next() throws IOException {
        while (true) {
            int from = next;
            while (next < end && chunk[next] != '\n') {
                next++;
            }
            take(from, next);
            if (next < end) {
                next++;
                position++;
                if (!tooLong) {
                    byte[] whole = line.toByteArray();
                    line.reset();
                    return Optional.of(whole);
                }
                tooLong = false;
            } else if (!fill()) {
                return Optional.empty();
            }
        }
    }

    private void take(int from, int to) {
        position += to - from;
        if (line.size() + (to - from) > longest) {
            tooLong = true;
            line.reset();
        }
        if (!tooLong) {
            line.write(chunk, from, to - from);
        }
    }

    private boolean fill() throws IOException {
        if (sinceMark + CHUNK > HELD) {
            mark();
        }
        int read = in.read(chunk, 0, CHUNK);
        next = 0;
        end = Math.max(read, 0);
        sinceMark += end;
        return read >= 0;
    }

    /** Where the last line ended. */
    public long position() {
        return position;
    }

    /** Everything up to the last line is worked off, and need not be kept. */
    public void done() throws IOException {
        if (next == end) {
            mark();
        } else if (sinceMark + CHUNK > HELD) {
            markHere();
        }
    }

    /** The stream is ahead by the rest of the chunk, so it goes back and reads that again. */
    private void markHere() throws IOException {
        int workedOff = sinceMark - (end - next);
        in.reset();
        in.skipNBytes(workedOff);
        next = 0;
        end = 0;
        mark();
    }

    private void mark() {
        in.mark(HELD);
        sinceMark = 0;
    }
}
