package dev.berth.sandbox.local.template.oci;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.time.Duration;

/**
 * What a registry sends, with a look at what it is: once all of it was read, it has had the size and the digest that it
 * should have, or it is refused. One that comes too slowly is broken off, since others wait for it.
 */
final class CheckedBlob extends InputStream {
    private static final Duration LONGEST = Duration.ofMinutes(30);

    private final InputStream in;
    private final ImageName image;
    private final String expected;
    private final long size;
    private final MessageDigest digest = Sha256.begin();
    private long read;
    private boolean ended;

    CheckedBlob(InputStream in, ImageName image, String expected, long size) {
        this.in = new TimedBody(in, LONGEST);
        this.image = image;
        this.expected = expected;
        this.size = size;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        if (ended) {
            return -1;
        }
        int n = in.read(buffer, offset, length);
        if (n > 0) {
            digest.update(buffer, offset, n);
            read += n;
        }
        if (read > size || (n < 0 && (read < size || !Sha256.end(digest).equals(expected)))) {
            ended = true;
            throw SandboxException.invalid("could not use the image " + image + ": a layer is not what its digest "
                    + expected + " says; see whether the registry is damaged, and try again");
        }
        ended = n < 0;
        return n;
    }

    /** Reads what is left, which nobody needs but for the digest. */
    void finish() throws IOException {
        byte[] rest = new byte[1 << 16];
        while (read(rest, 0, rest.length) >= 0) {
            // it is counted
        }
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
