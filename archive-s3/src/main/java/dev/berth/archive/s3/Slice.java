package dev.berth.archive.s3;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.util.Objects;

/**
 * A piece of a file as a stream, any number of times, one at a time: the SDK reads a body again for each attempt and
 * closes none of these streams, so they hold nothing. The file is not a channel, because the SDK interrupts an attempt
 * that takes too long, and an interrupt closes a channel for the attempts after it.
 */
final class Slice extends InputStream {
    private final RandomAccessFile file;
    private final long end;
    private long position;

    Slice(RandomAccessFile file, long start, long length) {
        this.file = file;
        this.position = start;
        this.end = start + length;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, buffer.length);
        if (length == 0) {
            return 0;
        }
        if (position == end) {
            return -1;
        }
        file.seek(position);
        int n = file.read(buffer, offset, (int) Math.min(length, end - position));
        if (n < 0) {
            throw new EOFException("the file became shorter while it was read");
        }
        position += n;
        return n;
    }

    @Override
    public int available() {
        return (int) Math.min(Integer.MAX_VALUE, end - position);
    }
}
