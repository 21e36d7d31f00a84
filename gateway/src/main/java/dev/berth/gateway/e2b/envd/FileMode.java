package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.FileInfo;

/** The permissions of a file in the notation of Go's os.FileMode, which differs from that of ls. */
final class FileMode {
    private static final int SET_UID = 04000;
    private static final int SET_GID = 02000;
    private static final int STICKY = 01000;
    private static final String BITS = "rwxrwxrwx";

    private FileMode() {}

    static String of(FileInfo.Type type, int mode) {
        StringBuilder text = new StringBuilder();
        switch (type) {
            case DIRECTORY -> text.append('d');
            case LINK -> text.append('L');
            case FILE -> {}
            case OTHER -> text.append('?');
        }
        text.append((mode & SET_UID) != 0 ? "u" : "")
                .append((mode & SET_GID) != 0 ? "g" : "")
                .append((mode & STICKY) != 0 ? "t" : "");
        if (text.isEmpty()) {
            text.append('-');
        }
        for (int i = 0; i < BITS.length(); i++) {
            text.append((mode >> (BITS.length() - 1 - i) & 1) != 0 ? BITS.charAt(i) : '-');
        }
        return text.toString();
    }
}
