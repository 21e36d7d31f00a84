package dev.berth.gateway.api;

import dev.berth.sandbox.SandboxException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Counts and hashes a body while it is read, and ends it with a failure if there is more than is allowed. */
final class UploadInput extends FilterInputStream {
    private final MessageDigest digest;
    private final long most;
    private long size;

    UploadInput(InputStream in, long most) {
        super(in);
        this.most = most;
        try {
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    static SandboxException tooLarge(long most) {
        return SandboxException.limit("the file is too large: " + most + " bytes are allowed; send it in parts and put"
                        + " them together in the session")
                .with(SandboxException.LIMIT, "request_bytes")
                .with(SandboxException.ALLOWED, most);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        int n = super.read(bytes, offset, length);
        if (n > 0) {
            size += n;
            if (size > most) {
                throw tooLarge(most);
            }
            digest.update(bytes, offset, n);
        }
        return n;
    }

    @Override
    public long skip(long n) throws IOException {
        throw new IOException("what is skipped would not be hashed");
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    long size() {
        return size;
    }

    /** To be asked once, at the end. */
    String sha256() {
        return HexFormat.of().formatHex(digest.digest());
    }
}
