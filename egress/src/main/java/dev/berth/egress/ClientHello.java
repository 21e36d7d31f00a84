package dev.berth.egress;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * How a TLS connection begins (RFC 8446, 4.1.2), read as far as needed to know whom the client wants to speak with. It is
 * read strictly: what servers might understand in another way is {@link Broken}.
 */
sealed interface ClientHello {
    /** Clients send some hundred, with keys for a time after quantum computers some thousand. */
    int MOST_BYTES = 32 << 10;

    /**
     * It begins, but is not all there.
     *
     * @param needed how many bytes there have to be at least before it is worth reading again
     */
    record Partial(int needed) implements ClientHello {}

    /** Something else than TLS. */
    record Foreign() implements ClientHello {}

    /** TLS, but not as it should be. */
    record Broken(String why) implements ClientHello {}

    /** @param server the name in the server_name extension, in lower case */
    record Complete(Optional<String> server) implements ClientHello {}

    /** Reads the first bytes of a connection. */
    static ClientHello read(byte[] bytes, int length) {
        if (length == 0) {
            return new Partial(1);
        }
        if (bytes[0] != Parser.HANDSHAKE || (length > 1 && bytes[1] != 3)) {
            return new Foreign();
        }
        try {
            return Parser.records(ByteBuffer.wrap(bytes, 0, length));
        } catch (Parser.Malformed e) {
            return new Broken(e.getMessage());
        } catch (BufferUnderflowException e) {
            return new Broken("a length in it is longer than what it is in");
        }
    }

    /** The layers of a hello, from the outside in. */
    final class Parser {
        private static final byte HANDSHAKE = 22;
        private static final int CLIENT_HELLO = 1;
        private static final int SERVER_NAME = 0;
        private static final int HOST_NAME = 0;
        private static final int HEADER = 5;
        private static final int MOST_IN_RECORD = 1 << 14;
        private static final int MOST_RECORDS = 32;
        private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,253}");

        private Parser() {}

        private static final class Malformed extends Exception {
            Malformed(String why) {
                super(why, null, false, false);
            }

            @Override
            public String getMessage() {
                return String.valueOf(super.getMessage());
            }
        }

        /** A handshake message may lie in several records. */
        private static ClientHello records(ByteBuffer in) throws Malformed {
            ByteArrayOutputStream message = new ByteArrayOutputStream();
            for (int count = 0; count < MOST_RECORDS; count++) {
                if (in.remaining() < HEADER) {
                    return new Partial(in.position() + HEADER);
                }
                check(in.get() == HANDSHAKE && in.get() == 3, "it is not in handshake records");
                in.get();
                int length = u16(in);
                check(length > 0 && length <= MOST_IN_RECORD, "a record of it has " + length + " bytes");
                if (in.remaining() < length) {
                    return new Partial(in.position() + length);
                }
                byte[] part = new byte[length];
                in.get(part);
                message.writeBytes(part);
                if (complete(message)) {
                    return new Complete(message(ByteBuffer.wrap(message.toByteArray())));
                }
                check(message.size() < MOST_BYTES, "it is too long");
            }
            throw new Malformed("it is in more than " + MOST_RECORDS + " records");
        }

        private static boolean complete(ByteArrayOutputStream message) throws Malformed {
            if (message.size() < 4) {
                return false;
            }
            ByteBuffer in = ByteBuffer.wrap(message.toByteArray());
            check(in.get() == CLIENT_HELLO, "it does not begin with a hello");
            int length = (in.get() & 0xff) << 16 | u16(in);
            check(length <= MOST_BYTES, "it is too long");
            check(in.remaining() <= length, "something lies behind the hello");
            return in.remaining() == length;
        }

        private static Optional<String> message(ByteBuffer in) throws Malformed {
            part(in, 4); // type and length
            return hello(in);
        }

        private static Optional<String> hello(ByteBuffer in) throws Malformed {
            part(in, 2 + 32); // version and random
            part(in, in.get() & 0xff); // session
            part(in, u16(in)); // cipher suites
            part(in, in.get() & 0xff); // compression
            if (!in.hasRemaining()) {
                return Optional.empty();
            }
            ByteBuffer extensions = part(in, u16(in));
            check(!in.hasRemaining(), "something lies behind the extensions");
            Optional<String> name = Optional.empty();
            Set<Integer> seen = new HashSet<>();
            while (extensions.hasRemaining()) {
                int type = u16(extensions);
                ByteBuffer extension = part(extensions, u16(extensions));
                check(seen.add(type), "an extension is there twice");
                if (type == SERVER_NAME) {
                    name = Optional.of(serverName(extension));
                }
            }
            return name;
        }

        /** RFC 6066, 3: a list that has never had more than one entry. */
        private static String serverName(ByteBuffer in) throws Malformed {
            ByteBuffer list = part(in, u16(in));
            check(!in.hasRemaining(), "something lies behind the server's name");
            check(list.get() == HOST_NAME, "the server's name is not that of a host");
            byte[] name = new byte[u16(list)];
            list.get(name);
            check(!list.hasRemaining(), "it names several servers");
            String text = new String(name, StandardCharsets.ISO_8859_1);
            check(NAME.matcher(text).matches(), "the server's name has characters that names have not");
            return text.toLowerCase(Locale.ROOT);
        }

        private static ByteBuffer part(ByteBuffer in, int length) throws Malformed {
            check(length <= in.remaining(), "a length in it is longer than what it is in");
            ByteBuffer part = in.slice(in.position(), length);
            in.position(in.position() + length);
            return part;
        }

        private static int u16(ByteBuffer in) {
            return in.getShort() & 0xffff;
        }

        private static void check(boolean holds, String otherwise) throws Malformed {
            if (!holds) {
                throw new Malformed(otherwise);
            }
        }
    }
}
