package dev.berth.sandbox.local.files;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;

/**
 * Copies what a caller gives into an open file.
 *
 * <p>By a channel and not by write(2) itself, because the JDK lends a virtual thread's carrier out while a channel
 * writes to a slow disk.
 */
final class ContentCopy {
    static final int BUFFER = 256 * 1024;

    private final String doing;
    private final SandboxPath path;

    ContentCopy(String doing, SandboxPath path) {
        this.doing = doing;
        this.path = path;
    }

    void copy(InputStream content, Fd file, OpenOption option) throws ErrnoException {
        byte[] buffer = new byte[BUFFER];
        try (FileChannel channel = FileChannel.open(file.path(), option)) {
            for (int n = fill(content, buffer); n > 0; n = fill(content, buffer)) {
                write(buffer, n, channel, file);
            }
        } catch (ErrnoException e) {
            throw e;
        } catch (IOException e) {
            throw FileErrors.error(ErrorCode.UNAVAILABLE, doing, path, "the write failed", "try again", e);
        }
    }

    /** Fills the buffer as far as there is content, so that a stream of small pieces does not become small writes. */
    private int fill(InputStream content, byte[] buffer) {
        try {
            return content.readNBytes(buffer, 0, buffer.length);
        } catch (IOException e) {
            throw FileErrors.error(
                    ErrorCode.UNAVAILABLE,
                    doing,
                    path,
                    "its content ended early (" + e.getMessage() + ")",
                    "send it again",
                    e);
        }
    }

    private static void write(byte[] buffer, int length, FileChannel channel, Fd file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(buffer, 0, length);
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw numbered(e, file, buffer, bytes.position(), bytes.remaining(), channel.position());
        }
    }

    /** The channel's exception has no error number (is the disk full?), so the same write is made again to get it. */
    private static IOException numbered(IOException e, Fd file, byte[] bytes, int offset, int length, long position) {
        try {
            FileCalls.pwrite(file, bytes, offset, length, position);
            return e;
        } catch (ErrnoException numbered) {
            return numbered;
        }
    }
}
