package dev.berth.channel;

import dev.berth.sandbox.SandboxException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** What comes from outside, so much of it at most, whatever was said before of how much it is. */
final class Counted extends FilterInputStream {
    private final long most;
    private long count;

    Counted(InputStream in, long most) {
        super(in);
        this.most = most;
    }

    long count() {
        return count;
    }

    @Override
    public int read() throws IOException {
        int b = in.read();
        if (b >= 0) {
            count(1);
        }
        return b;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        int read = in.read(buffer, offset, length);
        if (read > 0) {
            count(read);
        }
        return read;
    }

    @Override
    public long skip(long n) throws IOException {
        long skipped = in.skip(n);
        count(skipped);
        return skipped;
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    private void count(long bytes) {
        count += bytes;
        if (count > most) {
            throw tooLarge(most);
        }
    }

    static SandboxException tooLarge(long most) {
        return SandboxException.limit("it is larger than the " + (most >> 20) + " MB that are allowed");
    }
}
