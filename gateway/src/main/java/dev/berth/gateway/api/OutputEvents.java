package dev.berth.gateway.api;

import dev.berth.gateway.http.CallEvents;
import dev.berth.tool.OutputStore.Stream;
import dev.berth.tool.OutputTap;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;

/**
 * Tells the output of a call as text. A character whose bytes come in two pieces is told with the second; what is no
 * character is told as U+FFFD, and the whole output stays readable as bytes by its id.
 */
final class OutputEvents implements OutputTap {
    private final CallEvents events;
    private final Decoding stdout = new Decoding();
    private final Decoding stderr = new Decoding();

    private OutputEvents(CallEvents events) {
        this.events = events;
    }

    static OutputTap to(CallEvents events) {
        return events.heard() ? new OutputEvents(events) : OutputTap.NONE;
    }

    @Override
    public void output(Stream stream, byte[] bytes, int offset, int length) {
        String text = (stream == Stream.STDOUT ? stdout : stderr).decode(bytes, offset, length);
        if (!text.isEmpty()) {
            events.event("output", Map.of("stream", stream.name().toLowerCase(Locale.ROOT), "text", text));
        }
    }

    /** Of one stream, by one thread. */
    private static final class Decoding {
        private final CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPLACE)
                .onUnmappableCharacter(CodingErrorAction.REPLACE);
        private byte[] rest = new byte[0];

        String decode(byte[] bytes, int offset, int length) {
            ByteBuffer in = ByteBuffer.allocate(rest.length + length)
                    .put(rest)
                    .put(bytes, offset, length)
                    .flip();
            CharBuffer out = CharBuffer.allocate(in.remaining() + 1);
            decoder.decode(in, out, false);
            rest = new byte[in.remaining()];
            in.get(rest);
            return out.flip().toString();
        }
    }
}
