package dev.berth.egress.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.Trailers;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/** A body as Jetty has it, read by a thread that can wait, and that can be told to wait no more. */
final class Pieces extends InputStream {
    private final Content.Source source;
    private final Semaphore ready = new Semaphore(0);
    private volatile boolean stopped;
    private Content.@Nullable Chunk current;
    private @Nullable HttpFields trailers;

    Pieces(Content.Source source) {
        this.source = source;
    }

    /** Whether a read would not have to wait. */
    boolean isReady() throws IOException {
        return current != null || advance();
    }

    /** Whether it is known already that nothing more comes. */
    boolean isAtEnd() {
        return current != null && current.isLast() && !current.hasRemaining();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        while (true) {
            if (!isReady()) {
                source.demand(ready::release);
                try {
                    ready.acquire();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("interrupted");
                }
                if (stopped) {
                    throw new IOException("nobody wants the rest");
                }
                continue;
            }
            Content.Chunk chunk = java.util.Objects.requireNonNull(current);
            ByteBuffer buffer = chunk.getByteBuffer();
            int n = Math.min(length, buffer.remaining());
            if (n > 0) {
                buffer.get(bytes, offset, n);
            }
            boolean last = chunk.isLast();
            if (!buffer.hasRemaining() && !last) {
                chunk.release();
                current = null;
            }
            if (n > 0 || length == 0) {
                return n;
            }
            if (last) {
                return -1; // and it stays the current one, so that this is said again
            }
        }
    }

    private boolean advance() throws IOException {
        Content.Chunk chunk = source.read();
        if (chunk == null) {
            return false;
        }
        if (Content.Chunk.isFailure(chunk)) {
            Throwable failure = chunk.getFailure();
            throw failure instanceof IOException e ? e : new IOException(failure);
        }
        if (chunk instanceof Trailers last) {
            trailers = last.getTrailers();
        }
        current = chunk;
        return true;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    /** What came behind the body; known at its end. */
    Optional<HttpFields> trailers() {
        return Optional.ofNullable(trailers);
    }

    /** Whoever waits for more finds out that none will come. */
    void stop() {
        stopped = true;
        ready.release();
    }
}
