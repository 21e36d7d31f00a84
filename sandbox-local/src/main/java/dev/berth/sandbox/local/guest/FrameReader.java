package dev.berth.sandbox.local.guest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** Takes frames off a channel; holds a small buffer while little is going on. */
final class FrameReader {
    private static final int SMALL_BUFFER = 8 * 1024;

    private final SocketChannel channel;
    private ByteBuffer buffer = ByteBuffer.allocate(SMALL_BUFFER).limit(0);

    FrameReader(SocketChannel channel) {
        this.channel = channel;
    }

    /** The next frame, valid until the one after it is asked for; null at the end. */
    Wire.@Nullable In next(boolean idle) throws IOException {
        if (!fill(4, idle)) {
            return null;
        }
        int length = buffer.getInt();
        if (length < Wire.HEADER - 4 || length > Wire.MAX_FROM_GUEST) {
            throw new ProtocolException("a frame of " + Integer.toUnsignedLong(length) + " bytes");
        }
        if (!fill(length, idle)) {
            throw new ProtocolException("a frame broke off");
        }
        ByteBuffer frame = buffer.slice(buffer.position(), length);
        buffer.position(buffer.position() + length);
        return new Wire.In(frame);
    }

    private boolean fill(int bytes, boolean idle) throws IOException {
        if (buffer.remaining() >= bytes) {
            return true;
        }
        int size = Math.max(bytes, SMALL_BUFFER);
        if (buffer.capacity() < size || (idle && buffer.capacity() > size)) {
            // A streaming command gets room for a whole chunk at a time; an idle sandbox gives it back.
            int roomy = bytes > SMALL_BUFFER ? Math.max(bytes, 2 * Wire.CHUNK) : size;
            buffer = ByteBuffer.allocate(roomy).put(buffer).flip();
        } else {
            buffer.compact().flip();
        }
        while (buffer.remaining() < bytes) {
            int position = buffer.position();
            buffer.position(buffer.limit()).limit(buffer.capacity());
            int n = channel.read(buffer);
            buffer.limit(buffer.position()).position(position);
            if (n < 0) {
                return false;
            }
        }
        return true;
    }
}
