package dev.berth.session.artifact;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;

/**
 * Names of files that come from outside, made such that they are one name of one file everywhere, and that nobody is
 * misled by how they look. There is no name that cannot be made safe.
 */
public final class SafeName {
    /** Less than the 255 bytes of a Linux file name, to leave room for a number. */
    private static final int BYTES = 200;

    private static final int EXTENSION = 20;
    private static final String NAMELESS = "file";
    private static final Set<String> WINDOWS_DEVICES = Set.of("con", "prn", "aux", "nul", "conin$", "conout$");

    private SafeName() {}

    /** What a client or a sandbox calls a file, as a name that can be used; a name that was safe stays what it is. */
    public static String of(String given) {
        String last = given.substring(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
        StringBuilder name = new StringBuilder();
        last.codePoints().filter(c -> !misleads(c)).map(SafeName::usable).forEach(name::appendCodePoint);
        String trimmed = trimEnd(trimBegin(name.toString()));
        if (trimmed.isEmpty()) {
            return NAMELESS;
        }
        return cut(isWindowsDevice(trimmed) ? "_" + trimmed : trimmed);
    }

    private static String trimBegin(String name) {
        int begin = 0;
        while (begin < name.length() && ". -".indexOf(name.charAt(begin)) >= 0) {
            begin++;
        }
        return name.substring(begin);
    }

    private static String trimEnd(String name) {
        int end = name.length();
        while (end > 0 && ". ".indexOf(name.charAt(end - 1)) >= 0) {
            end--;
        }
        return name.substring(0, end);
    }

    /** Characters that cannot be seen or change how others are shown: controls, bidi and other format characters. */
    static boolean misleads(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED -> true;
            default -> false;
        };
    }

    /** What Windows has no names with, as downloads end up there. */
    private static int usable(int c) {
        return "<>:\"|?*".indexOf(c) >= 0 ? '_' : Character.isSpaceChar(c) ? ' ' : c;
    }

    private static boolean isWindowsDevice(String name) {
        String stem = (name.indexOf('.') < 0 ? name : name.substring(0, name.indexOf('.')))
                .strip()
                .toLowerCase(Locale.ROOT);
        return WINDOWS_DEVICES.contains(stem) || stem.matches("(com|lpt)[0-9¹²³]");
    }

    private static String cut(String name) {
        if (bytes(name) <= BYTES) {
            return name;
        }
        String extension = extension(name);
        StringBuilder kept = new StringBuilder();
        int left = BYTES - bytes(extension);
        for (int c : name.substring(0, name.length() - extension.length())
                .codePoints()
                .toArray()) {
            left -= bytes(Character.toString(c));
            if (left < 0) {
                break;
            }
            kept.appendCodePoint(c);
        }
        return trimEnd(kept.toString()) + extension;
    }

    /** The same name with a number before its extension. */
    public static String numbered(String name, int number) {
        String extension = extension(name);
        return name.substring(0, name.length() - extension.length()) + " (" + number + ")" + extension;
    }

    private static String extension(String name) {
        int dot = name.lastIndexOf('.');
        return dot <= 0 || name.length() - dot > EXTENSION || bytes(name.substring(dot)) > EXTENSION
                ? ""
                : name.substring(dot);
    }

    private static int bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }
}
