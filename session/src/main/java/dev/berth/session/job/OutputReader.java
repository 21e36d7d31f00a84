package dev.berth.session.job;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;

/**
 * Reads a stream of a job in chunks that are written down one after the other: the first at once, the next ones when
 * there is much, or after a while, so that a job that prints a line now and then is followed closely and one that floods
 * costs few transactions. No character of UTF-8 is cut.
 *
 * <p>The stream is marked where what was written down ends, so that the sandbox keeps the rest in case that this server
 * is killed.
 */
final class OutputReader {
    private static final int CHUNK = 64 << 10;
    /** With the rest of a character that a chunk ends in. */
    private static final int AHEAD = CHUNK + 4;

    private static final long GATHERING = Duration.ofMillis(200).toNanos();
    private static final Duration STEP = Duration.ofMillis(10);
    private static final byte[] NONE = new byte[0];

    interface Sink {
        /** Writes a chunk down; false if that is not for us to do any more. */
        boolean write(long offset, byte[] bytes) throws InterruptedException;
    }

    private final InputStream in;
    private final Sink sink;
    private long offset;
    private long lastWritten = System.nanoTime() - GATHERING;

    OutputReader(InputStream in, long from, Sink sink) {
        this.in = in.markSupported() ? in : new BufferedInputStream(in);
        this.offset = from;
        this.sink = sink;
    }

    /** Reads to the end; false if that is not for us to do any more. */
    boolean run() throws IOException, InterruptedException {
        in.mark(AHEAD);
        for (byte[] chunk = next(); chunk.length > 0; chunk = next()) {
            if (!sink.write(offset, chunk)) {
                return false;
            }
            lastWritten = System.nanoTime();
            offset += chunk.length;
            in.reset();
            in.skipNBytes(chunk.length);
            in.mark(AHEAD);
        }
        return true;
    }

    private byte[] next() throws IOException, InterruptedException {
        int first = in.read();
        if (first < 0) {
            return NONE;
        }
        while (1 + in.available() < CHUNK && System.nanoTime() - lastWritten < GATHERING) {
            Thread.sleep(STEP);
        }
        // No larger than it has to be, and not there while nothing comes: there may be thousands of these.
        byte[] bytes = new byte[Math.min(CHUNK, 1 + in.available())];
        bytes[0] = (byte) first;
        int read = 1 + in.readNBytes(bytes, 1, bytes.length - 1);
        int whole = JobOutput.whole(bytes, read);
        while (whole == 0) {
            int more = in.read();
            if (more < 0) {
                return bytes;
            }
            bytes = Arrays.copyOf(bytes, bytes.length + 1);
            bytes[bytes.length - 1] = (byte) more;
            whole = JobOutput.whole(bytes, bytes.length);
        }
        return whole == bytes.length ? bytes : Arrays.copyOf(bytes, whole);
    }
}
