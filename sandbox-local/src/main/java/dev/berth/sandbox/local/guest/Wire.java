package dev.berth.sandbox.local.guest;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** The numbers of guest/PROTOCOL.md, and how its frames are put together and taken apart. */
final class Wire {
    static final int VERSION = 2;
    /** Of guests that were started before there was LISTEN. */
    static final int OLDEST_VERSION = 1;

    static final int NO_ID = -1;

    static final int WELCOME = 1;
    static final int START = 2;
    static final int STDIN = 3;
    static final int STDIN_CLOSE = 4;
    static final int SIGNAL = 5;
    static final int RESIZE = 6;
    static final int LIST = 7;
    static final int SUBSCRIBE = 8;
    static final int CONSUMED = 9;
    static final int RELEASE = 10;
    static final int DIAL = 11;
    static final int DATA_TO_GUEST = 12;
    static final int DATA_END_TO_GUEST = 13;
    static final int CLOSE = 14;
    static final int DATA_CONSUMED = 15;
    static final int PING = 17;
    static final int LISTEN = 18;

    static final int HELLO = 65;
    static final int STARTED = 66;
    static final int REFUSED = 67;
    static final int OUTPUT = 68;
    static final int OUTPUT_END = 69;
    static final int EXITED = 70;
    static final int STDIN_TAKEN = 71;
    static final int STDIN_BROKEN = 72;
    static final int PROCESSES = 73;
    static final int DIALED = 74;
    static final int DATA = 75;
    static final int DATA_END = 76;
    static final int CLOSED = 77;
    static final int DATA_TAKEN = 78;
    static final int PONG = 80;
    static final int LISTENING = 81;
    static final int ACCEPTED = 82;

    static final int FLAG_PTY = 1;
    static final int FLAG_STDIN = 2;
    static final int FLAG_BLOCK = 4;
    static final int FLAG_NO_NEW_PRIVS = 8;

    static final int STDOUT = 1;
    static final int STDERR = 2;

    static final int HEADER = 9;
    /** Of what a frame's length counts, from the guest. */
    static final int MAX_FROM_GUEST = 256 * 1024;
    /** How much stdin, or data of a carried connection from the guest, may be under way. */
    static final int STREAM_WINDOW = 256 * 1024;
    /** How much data of a carried connection may be under way to a guest of this version. */
    static final int CARRIED_WINDOW = 1024 * 1024;
    /** Bytes in one STDIN or DATA frame of ours: with its header it just fits into what a guest reads at a time. */
    static final int CHUNK = 64 * 1024 - HEADER;

    private Wire() {}

    /** What stands before a payload of that length. */
    static ByteBuffer header(int type, int id, int length) {
        return ByteBuffer.allocate(HEADER)
                .putInt(HEADER - 4 + length)
                .put((byte) type)
                .putInt(id)
                .flip();
    }

    /** A frame being written; grows as needed. */
    static final class Out {
        private ByteBuffer buffer;

        Out(int type, int id, int sizeHint) {
            buffer = ByteBuffer.allocate(HEADER + sizeHint);
            buffer.putInt(0).put((byte) type).putInt(id);
        }

        Out u8(int value) {
            room(1).put((byte) value);
            return this;
        }

        Out u16(int value) {
            room(2).putShort((short) value);
            return this;
        }

        Out u32(int value) {
            room(4).putInt(value);
            return this;
        }

        Out u64(long value) {
            room(8).putLong(value);
            return this;
        }

        Out bytes(byte[] bytes, int offset, int length) {
            room(length).put(bytes, offset, length);
            return this;
        }

        Out string(String value) {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            return u32(bytes.length).bytes(bytes, 0, bytes.length);
        }

        Out list(List<String> values) {
            u32(values.size());
            values.forEach(this::string);
            return this;
        }

        ByteBuffer done() {
            buffer.putInt(0, buffer.position() - 4);
            return buffer.flip();
        }

        private ByteBuffer room(int bytes) {
            if (buffer.remaining() < bytes) {
                int size = Math.max(buffer.capacity() * 2, buffer.position() + bytes);
                buffer = ByteBuffer.wrap(Arrays.copyOf(buffer.array(), size)).position(buffer.position());
            }
            return buffer;
        }
    }

    /** A frame that came; reading past its end is a protocol error, as is anything else that is out of bounds. */
    static final class In {
        final int type;
        final int id;
        private final ByteBuffer payload;

        In(ByteBuffer frame) {
            type = Byte.toUnsignedInt(frame.get());
            id = frame.getInt();
            payload = frame;
        }

        int u8() throws ProtocolException {
            try {
                return Byte.toUnsignedInt(payload.get());
            } catch (BufferUnderflowException e) {
                throw truncated(e);
            }
        }

        int u16() throws ProtocolException {
            try {
                return Short.toUnsignedInt(payload.getShort());
            } catch (BufferUnderflowException e) {
                throw truncated(e);
            }
        }

        int u32() throws ProtocolException {
            try {
                return payload.getInt();
            } catch (BufferUnderflowException e) {
                throw truncated(e);
            }
        }

        /** An offset; they never reach the sign bit. */
        long u64() throws ProtocolException {
            try {
                long value = payload.getLong();
                if (value < 0) {
                    throw new ProtocolException("offset out of range");
                }
                return value;
            } catch (BufferUnderflowException e) {
                throw truncated(e);
            }
        }

        String string() throws ProtocolException {
            int length = u32();
            if (length < 0 || length > payload.remaining()) {
                throw new ProtocolException("string longer than its frame");
            }
            byte[] bytes = new byte[length];
            payload.get(bytes);
            return new String(bytes, StandardCharsets.UTF_8);
        }

        /** What is left of the payload. */
        ByteBuffer rest() {
            return payload;
        }

        private ProtocolException truncated(BufferUnderflowException cause) {
            return new ProtocolException("frame " + type + " is too short", cause);
        }
    }
}
