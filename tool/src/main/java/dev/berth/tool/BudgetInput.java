package dev.berth.tool;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Keeps a reader of archives, which holds headers in memory, from reading one without end: a long name or an extended
 * header may claim to have gigabytes.
 */
final class BudgetInput extends FilterInputStream {
    private static final long HEADER = 1 << 20;

    private long left = HEADER;

    BudgetInput(InputStream in) {
        super(in);
    }

    void allowHeader() {
        left = HEADER;
    }

    void allowContent() {
        left = Long.MAX_VALUE;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (left <= 0) {
            throw new IOException("a header has more than " + HEADER + " bytes");
        }
        int n = super.read(bytes, offset, (int) Math.min(length, left));
        left -= Math.max(0, n);
        return n;
    }

    @Override
    public long skip(long n) throws IOException {
        long skipped = super.skip(Math.min(n, left));
        left -= skipped;
        return skipped;
    }

    @Override
    public boolean markSupported() {
        return false;
    }
}
