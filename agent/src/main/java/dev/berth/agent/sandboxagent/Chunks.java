package dev.berth.agent.sandboxagent;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** A body that comes in chunks, as RFC 9112 has it. */
final class Chunks extends InputStream {
    private static final int LONGEST_LINE = 1024;

    private final InputStream in;
    private long left;
    private boolean first = true;
    private boolean over;

    Chunks(InputStream in) {
        this.in = in;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (left == 0 && !next()) {
            return -1;
        }
        int read = in.read(target, offset, (int) Math.min(length, left));
        if (read < 0) {
            throw new EOFException("the answer broke off");
        }
        left -= read;
        return read;
    }

    private boolean next() throws IOException {
        if (over) {
            return false;
        }
        if (!first) {
            line(); // the end of the chunk before
        }
        first = false;
        String size = line();
        int extension = size.indexOf(';');
        try {
            left = Long.parseLong((extension < 0 ? size : size.substring(0, extension)).strip(), 16);
        } catch (NumberFormatException e) {
            throw new IOException("'" + size + "' is not the size of a chunk", e);
        }
        if (left < 0) {
            throw new IOException("a chunk cannot have " + left + " bytes");
        }
        over = left == 0;
        return !over;
    }

    private String line() throws IOException {
        return line(in, LONGEST_LINE);
    }

    /** A line without its end. */
    static String line(InputStream in, int longest) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the answer broke off");
            }
            if (line.length() == longest) {
                throw new IOException("a line of the answer has more than " + longest + " characters");
            }
            line.append((char) c);
        }
        return line.toString().stripTrailing();
    }
}
