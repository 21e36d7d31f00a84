package dev.berth.session.job;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * What a job printed, from a chunk on.
 *
 * @param next the number of the last chunk here, from which to read on
 * @param complete whether there will be no more after that
 */
public record JobOutput(Job job, List<Chunk> chunks, long next, boolean complete) {
    /** A part of a stream, with its place in it. */
    public record Chunk(long number, String stream, long offset, byte[] bytes) {
        /** As text; empty if it is none that JSON and PostgreSQL could both carry. */
        public Optional<String> text() {
            return JobOutput.text(bytes);
        }
    }

    static Optional<String> text(byte[] bytes) {
        for (byte b : bytes) {
            if (b == 0) {
                return Optional.empty();
            }
        }
        try {
            return Optional.of(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    /** How many of these bytes to take so that no character of UTF-8 is cut: all, or up to three fewer. */
    static int whole(byte[] bytes, int length) {
        for (int back = 1; back <= Math.min(3, length); back++) {
            int b = Byte.toUnsignedInt(bytes[length - back]);
            if (b >= 0xC0) {
                int size = b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : 2;
                return size > back ? length - back : length;
            }
            if (b < 0x80) {
                return length;
            }
        }
        return length;
    }
}
