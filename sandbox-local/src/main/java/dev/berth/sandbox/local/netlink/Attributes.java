package dev.berth.sandbox.local.netlink;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What an answer says: the part of a fixed size, and the attributes behind it. Only known to be read once, in any order. */
public final class Attributes {
    private static final int TYPE = 0x3fff;

    private record Attribute(int type, byte[] value) {}

    private final byte[] fixed;
    private final List<Attribute> all = new ArrayList<>();

    private Attributes(byte[] fixed) {
        this.fixed = fixed;
    }

    /** @param fixedSize of the structure in front */
    static Attributes read(ByteBuffer from, int fixedSize) {
        byte[] fixed = new byte[fixedSize];
        from.get(fixed);
        Attributes attributes = new Attributes(fixed);
        while (from.remaining() >= 4) {
            int start = from.position();
            int length = Short.toUnsignedInt(from.getShort());
            int type = from.getShort() & TYPE;
            if (length < 4 || length - 4 > from.remaining()) {
                throw new IllegalStateException("the kernel sent an attribute of " + length + " bytes");
            }
            byte[] value = new byte[length - 4];
            from.get(value);
            attributes.all.add(new Attribute(type, value));
            from.position(Math.min(from.limit(), start + Message.aligned(length)));
        }
        return attributes;
    }

    /** The structure in front. */
    public ByteBuffer fixed() {
        return ByteBuffer.wrap(fixed).order(ByteOrder.nativeOrder());
    }

    public Optional<byte[]> bytes(int type) {
        return all.stream().filter(it -> it.type == type).map(Attribute::value).findFirst();
    }

    public Optional<Integer> number(int type) {
        return bytes(type)
                .map(value ->
                        ByteBuffer.wrap(value).order(ByteOrder.nativeOrder()).getInt());
    }

    /** One that has its highest byte first. */
    public Optional<Long> networkOrder(int type) {
        return bytes(type).map(value -> ByteBuffer.wrap(value).getLong());
    }

    public Optional<String> text(int type) {
        return bytes(type).map(Attributes::text);
    }

    /** Up to the first zero. */
    public static String text(byte[] bytes) {
        int length = 0;
        while (length < bytes.length && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.US_ASCII);
    }

    /** The attributes in an attribute; none if there is no such one. */
    public Attributes nested(int type) {
        return read(ByteBuffer.wrap(bytes(type).orElse(new byte[0])).order(ByteOrder.nativeOrder()), 0);
    }

    /** The attributes in each attribute of this type, as lists have several. */
    public List<Attributes> each(int type) {
        return all.stream()
                .filter(it -> it.type == type)
                .map(it -> read(ByteBuffer.wrap(it.value).order(ByteOrder.nativeOrder()), 0))
                .toList();
    }
}
