package dev.berth.sandbox.local.files;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Objects;

/** A part of a file as a stream that reads no further than it is asked to. */
final class FileInput extends InputStream {
    private final FileChannel channel;
    private final long end;
    private long position;

    FileInput(FileChannel channel, long offset, long length) {
        this.channel = channel;
        this.position = offset;
        this.end = length > Long.MAX_VALUE - offset ? Long.MAX_VALUE : offset + length;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        if (length == 0) {
            return 0;
        }
        int wanted = (int) Math.min(length, end - position);
        if (wanted <= 0) {
            return -1;
        }
        int n = channel.read(ByteBuffer.wrap(bytes, offset, wanted), position);
        if (n > 0) {
            position += n;
        }
        return n;
    }

    @Override
    public long skip(long n) throws IOException {
        long skipped = Math.clamp(n, 0, left());
        position += skipped;
        return skipped;
    }

    @Override
    public int available() throws IOException {
        return (int) Math.min(Integer.MAX_VALUE, left());
    }

    @Override
    public long transferTo(OutputStream out) throws IOException {
        byte[] buffer = new byte[ContentCopy.BUFFER];
        long total = 0;
        for (int n = read(buffer); n >= 0; n = read(buffer)) {
            out.write(buffer, 0, n);
            total += n;
        }
        return total;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private long left() throws IOException {
        return Math.max(0, Math.min(end, channel.size()) - position);
    }
}
