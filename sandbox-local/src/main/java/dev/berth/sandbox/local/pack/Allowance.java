package dev.berth.sandbox.local.pack;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;

/**
 * What is left of the bounds of an archive, or of all archives that are unpacked together: a few bytes can stand for a lot.
 * For one thread at a time.
 */
public final class Allowance {
    private final ArchiveUnpacker.Bounds bounds;
    private long bytes;
    private long nodes;

    public Allowance(ArchiveUnpacker.Bounds bounds) {
        this.bounds = bounds;
    }

    void takeNode() {
        if (++nodes > bounds.nodes()) {
            throw SandboxException.limit("what is unpacked has more than " + bounds.nodes() + " files");
        }
    }

    /**
     * The same stream. Every byte of it counts, since those that become nothing have to be read and unpacked as well; and
     * whoever reads may be interrupted.
     */
    InputStream counting(InputStream in) {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] buffer, int offset, int length) throws IOException {
                PlatformWork.checkInterrupt();
                int n = in.read(buffer, offset, length);
                bytes += Math.max(n, 0);
                if (bytes > bounds.bytes()) {
                    throw SandboxException.limit(
                            "what is unpacked has more than " + (bounds.bytes() >> 30) + " GB of files");
                }
                return n;
            }
        };
    }
}
