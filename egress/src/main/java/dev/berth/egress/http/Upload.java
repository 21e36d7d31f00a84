package dev.berth.egress.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.io.content.AsyncContent;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.BufferUtil;
import org.jspecify.annotations.Nullable;

/** The body of a request to a server outside. Whoever writes waits until it was taken. */
final class Upload extends AsyncContent implements Request.Content {
    private final long length;
    private final CountDownLatch wanted = new CountDownLatch(1);

    /** @param length -1 if it is not known */
    Upload(long length) {
        this.length = length;
    }

    @Override
    public long getLength() {
        return length;
    }

    @Override
    @SuppressWarnings("NullAway") // Jetty's way to say that a request need not have one
    public @Nullable String getContentType() {
        return null;
    }

    /** Waits until there is somebody to take it: before that, a program is not told to go on and send it. */
    boolean awaitWanted(long seconds) throws InterruptedException {
        return wanted.await(seconds, TimeUnit.SECONDS);
    }

    @Override
    public void demand(Runnable callback) {
        wanted.countDown();
        super.demand(callback);
    }

    @Override
    public void fail(Throwable failure) {
        wanted.countDown();
        super.fail(failure);
    }

    void send(ByteBuffer bytes) throws IOException {
        if (bytes.hasRemaining()) {
            write(false, bytes);
        }
    }

    void end() throws IOException {
        write(true, BufferUtil.EMPTY_BUFFER);
    }

    private void write(boolean last, ByteBuffer bytes) throws IOException {
        try (Blocker.Callback taken = Blocker.callback()) {
            write(last, bytes, taken);
            taken.block();
        }
    }
}
