package dev.berth.session.artifact;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How large an image says it is, from its first bytes alone. Nothing is decoded: the bytes come from a sandbox, and what
 * does not make sense has no size.
 */
record ImageSize(int width, int height) {
    private static final int MOST = 1 << 20;
    /** Of an SVG only its first tag is looked at, and only so much of it. */
    private static final int TAG = 4096;

    private static final Pattern LENGTH = Pattern.compile("[0-9]{1,7}(?:\\.[0-9]{1,9})?(?:px)?");
    private static final Pattern ATTRIBUTE =
            Pattern.compile("[\\s\"'](width|height|viewBox)\\s{0,8}=\\s{0,8}[\"']([^\"'<>]{0,100})[\"']");

    static Optional<ImageSize> of(String mimeType, byte[] head) {
        return switch (mimeType) {
            case "image/png" -> png(head);
            case "image/gif" -> gif(head);
            case "image/jpeg" -> jpeg(head);
            case "image/webp" -> webp(head);
            case "image/svg+xml" -> svg(head);
            default -> Optional.empty();
        };
    }

    private static Optional<ImageSize> sized(long width, long height) {
        return width < 1 || height < 1 || width > MOST || height > MOST
                ? Optional.empty()
                : Optional.of(new ImageSize((int) width, (int) height));
    }

    private static Optional<ImageSize> png(byte[] head) {
        return head.length < 24 || !is(head, 12, "IHDR") ? Optional.empty() : sized(big(head, 16, 4), big(head, 20, 4));
    }

    private static Optional<ImageSize> gif(byte[] head) {
        return head.length < 10 ? Optional.empty() : sized(little(head, 6, 2), little(head, 8, 2));
    }

    /** Segment by segment to the frame header, ITU T.81 B.2.2; each is longer than nothing, so this ends. */
    private static Optional<ImageSize> jpeg(byte[] head) {
        int at = 2;
        while (at + 9 <= head.length && (head[at] & 0xff) == 0xff) {
            int marker = head[at + 1] & 0xff;
            if (marker == 0xff) {
                at++; // fill
                continue;
            }
            boolean frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
            if (frame) {
                return sized(big(head, at + 7, 2), big(head, at + 5, 2));
            }
            long length = big(head, at + 2, 2);
            if (length < 2 || marker == 0xd9 || marker == 0xda) {
                return Optional.empty();
            }
            at += 2 + (int) length;
        }
        return Optional.empty();
    }

    /** RFC 9649: lossy, lossless and extended. */
    private static Optional<ImageSize> webp(byte[] head) {
        if (head.length < 30) {
            return Optional.empty();
        }
        if (is(head, 12, "VP8X")) {
            return sized(little(head, 24, 3) + 1, little(head, 27, 3) + 1);
        }
        if (is(head, 12, "VP8L") && head[20] == 0x2f) {
            long bits = little(head, 21, 4);
            return sized((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
        }
        return is(head, 12, "VP8 ")
                ? sized(little(head, 26, 2) & 0x3fff, little(head, 28, 2) & 0x3fff)
                : Optional.empty();
    }

    private static Optional<ImageSize> svg(byte[] head) {
        String text = new String(head, 0, Math.min(head.length, 4 * TAG), StandardCharsets.UTF_8);
        int begin = text.indexOf("<svg");
        if (begin < 0) {
            return Optional.empty();
        }
        int end = text.indexOf('>', begin);
        String tag = text.substring(begin, Math.min(end < 0 ? text.length() : end, begin + TAG));
        long width = 0;
        long height = 0;
        String box = "";
        for (Matcher attribute = ATTRIBUTE.matcher(tag); attribute.find(); ) {
            switch (attribute.group(1)) {
                case "width" -> width = pixels(attribute.group(2));
                case "height" -> height = pixels(attribute.group(2));
                default -> box = attribute.group(2).strip();
            }
        }
        String[] corners = box.split("[ ,]+");
        return (width > 0 && height > 0) || corners.length != 4
                ? sized(width, height)
                : sized(pixels(corners[2]), pixels(corners[3]));
    }

    private static long pixels(String length) {
        return LENGTH.matcher(length).matches() ? Math.round(Double.parseDouble(length.replace("px", ""))) : 0;
    }

    private static boolean is(byte[] bytes, int at, String text) {
        for (int i = 0; i < text.length(); i++) {
            if (bytes[at + i] != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private static long big(byte[] bytes, int at, int length) {
        long value = 0;
        for (int i = 0; i < length; i++) {
            value = (value << 8) | (bytes[at + i] & 0xff);
        }
        return value;
    }

    private static long little(byte[] bytes, int at, int length) {
        long value = 0;
        for (int i = length - 1; i >= 0; i--) {
            value = (value << 8) | (bytes[at + i] & 0xff);
        }
        return value;
    }
}
