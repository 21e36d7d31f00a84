package dev.berth.gateway.e2b.envd;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** A message of a stream as the Connect protocol frames it: a byte of flags, four of length, and the message. */
record Envelope(int flags, byte[] message) {
    static final int COMPRESSED = 0x01;
    static final int END = 0x02;
    private static final int HEAD = 5;

    byte[] bytes() {
        return ByteBuffer.allocate(HEAD + message.length)
                .put((byte) flags)
                .putInt(message.length)
                .put(message)
                .array();
    }

    /**
     * The one message that a call with a stream as its answer has.
     *
     * @param most bytes that it may have
     * @throws IOException if the client went away
     */
    static byte[] onlyMessage(InputStream in, int most) throws IOException {
        byte[] head = read(in, HEAD);
        if (head.length == 0) {
            throw new ConnectError(ConnectCode.UNIMPLEMENTED, "the request has no message, and needs one");
        }
        if (head.length < HEAD) {
            throw ConnectError.invalid("protocol error: incomplete envelope");
        }
        ByteBuffer buffer = ByteBuffer.wrap(head);
        int flags = buffer.get() & 0xff;
        long length = buffer.getInt() & 0xffff_ffffL;
        if ((flags & COMPRESSED) != 0) {
            throw ConnectError.internal("protocol error: sent compressed message without compression support");
        }
        if (flags != 0) {
            throw ConnectError.invalid("protocol error: invalid envelope flags " + flags);
        }
        if (length > most) {
            throw new ConnectError(
                    ConnectCode.RESOURCE_EXHAUSTED,
                    "message size " + length + " is larger than configured max " + most);
        }
        byte[] message = read(in, (int) length);
        if (message.length < length) {
            throw ConnectError.invalid(
                    "protocol error: promised " + length + " bytes in enveloped message, got " + message.length);
        }
        if (in.read() >= 0) {
            throw new ConnectError(ConnectCode.UNIMPLEMENTED, "the request has more than one message");
        }
        return message;
    }

    /** A body that broke off is one that is too short: there is nobody to be told otherwise. */
    private static byte[] read(InputStream in, int length) throws IOException {
        try {
            return in.readNBytes(length);
        } catch (EOFException e) {
            return new byte[0];
        }
    }
}
