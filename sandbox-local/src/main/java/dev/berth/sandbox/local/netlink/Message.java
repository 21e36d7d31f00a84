package dev.berth.sandbox.local.netlink;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/** A request, see netlink(7): a header, a part of a fixed size, and attributes, which may have attributes themselves. */
public final class Message {
    public static final int REQUEST = 0x1;
    public static final int ACK = 0x4;
    public static final int EXCLUSIVE = 0x200;
    public static final int CREATE = 0x400;
    public static final int DUMP = 0x300;

    static final int HEADER = 16;
    private static final int ATTRIBUTE_HEADER = 4;
    private static final int NESTED = 0x8000;

    private ByteBuffer buffer = ByteBuffer.allocate(256).order(ByteOrder.nativeOrder());

    private Message(int type, int flags) {
        buffer.putInt(0)
                .putShort((short) type)
                .putShort((short) (flags | REQUEST))
                .putInt(0)
                .putInt(0);
    }

    /**
     * A message that has no attributes yet.
     *
     * @param fixed what follows the header, in the order of bytes that it is to have
     */
    public static Message of(int type, int flags, byte[] fixed) {
        Message message = new Message(type, flags);
        message.append(fixed);
        return message;
    }

    /** The fixed parts of messages are structures of C. */
    public static ByteBuffer structure(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    }

    public Message with(int attribute, byte[] value) {
        room(ATTRIBUTE_HEADER);
        buffer.putShort((short) (ATTRIBUTE_HEADER + value.length)).putShort((short) attribute);
        append(value);
        return this;
    }

    public Message with(int attribute, int value) {
        return with(attribute, structure(4).putInt(value).array());
    }

    /** As nf_tables wants numbers: the highest byte first. */
    public Message withNetworkOrder(int attribute, int value) {
        return with(attribute, ByteBuffer.allocate(4).putInt(value).array());
    }

    public Message withNetworkOrder(int attribute, long value) {
        return with(attribute, ByteBuffer.allocate(8).putLong(value).array());
    }

    public Message with(int attribute, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        return with(attribute, Arrays.copyOf(bytes, bytes.length + 1));
    }

    public Message with(int attribute, Consumer<Message> inner) {
        room(ATTRIBUTE_HEADER);
        int start = buffer.position();
        buffer.putShort((short) 0).putShort((short) (attribute | NESTED));
        inner.accept(this);
        buffer.putShort(start, (short) (buffer.position() - start));
        return this;
    }

    /** Bytes as they are, for an attribute that begins with a structure. */
    public Message append(byte[] bytes) {
        int padded = aligned(bytes.length);
        room(padded);
        buffer.put(bytes);
        buffer.position(buffer.position() + padded - bytes.length);
        return this;
    }

    private void room(int bytes) {
        if (buffer.remaining() < bytes) {
            ByteBuffer larger =
                    ByteBuffer.allocate(2 * (buffer.capacity() + bytes)).order(ByteOrder.nativeOrder());
            larger.put(buffer.flip());
            buffer = larger;
        }
    }

    boolean wantsAck() {
        return (buffer.getShort(6) & ACK) != 0;
    }

    /** As it is sent. */
    byte[] bytes(int sequence) {
        buffer.putInt(0, buffer.position()).putInt(8, sequence);
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    static int aligned(int length) {
        return (length + 3) & ~3;
    }
}
