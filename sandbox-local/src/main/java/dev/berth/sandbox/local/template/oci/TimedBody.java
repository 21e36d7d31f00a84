package dev.berth.sandbox.local.template.oci;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/**
 * What a server sends, broken off when it takes too long: the time limit of a request ends with the headers of its answer,
 * and then a server may send a byte now and then for ever.
 */
final class TimedBody extends FilterInputStream {
    private final Thread watch;

    TimedBody(InputStream in, Duration longest) {
        super(in);
        this.watch = Thread.ofVirtual().name("time limit of a registry").start(() -> breakOff(longest));
    }

    private void breakOff(Duration longest) {
        try {
            Thread.sleep(longest);
            in.close();
        } catch (InterruptedException | IOException e) {
            // it is read, or broken already
        }
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        return in.read(buffer, offset, length);
    }

    @Override
    public void close() throws IOException {
        watch.interrupt();
        in.close();
    }
}
