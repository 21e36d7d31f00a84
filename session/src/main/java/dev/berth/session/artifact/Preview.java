package dev.berth.session.artifact;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** The first lines of a text, for people to see what it is before they fetch it. */
final class Preview {
    private static final int BYTES = 2048;

    private Preview() {}

    static Optional<String> of(String mimeType, byte[] head) {
        if (!isText(mimeType) || head.length == 0) {
            return Optional.empty();
        }
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        CharBuffer text = CharBuffer.allocate(BYTES);
        // What is cut in the middle of a character is not the end of the input, and so no error.
        CoderResult result = decoder.decode(ByteBuffer.wrap(head, 0, Math.min(BYTES, head.length)), text, false);
        String shown = text.flip().toString();
        if (result.isError() || shown.indexOf('\0') >= 0) {
            return Optional.empty();
        }
        int lines = shown.lastIndexOf('\n');
        String whole = head.length > BYTES && lines > 0 ? shown.substring(0, lines + 1) : shown;
        return Optional.of(visible(whole));
    }

    private static boolean isText(String mimeType) {
        return mimeType.startsWith("text/")
                || switch (mimeType) {
                    case "application/json",
                            "application/jsonl",
                            "application/xml",
                            "application/yaml",
                            "application/x-ipynb+json",
                            "image/svg+xml" -> true;
                    default -> false;
                };
    }

    /** A terminal or a page that shows it should not be told what to do by it. */
    private static String visible(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints()
                .map(c -> c == '\n' || c == '\t' || c == '\r' || !SafeName.misleads(c) ? c : 0xfffd)
                .forEach(shown::appendCodePoint);
        return shown.toString();
    }
}
