package dev.berth.cli;

import java.io.ByteArrayOutputStream;

/**
 * Finds in what is typed the way to leave a terminal: Ctrl-] and then q. Ctrl-] twice is one for the other end; followed by
 * anything else it is passed on with it.
 */
final class DetachKeys {
    private static final int ESCAPE = 0x1d;

    private boolean escaped;
    private boolean left;

    /** What of these bytes is for the other end; nothing behind the wish to leave. */
    byte[] pass(byte[] typed, int length) {
        ByteArrayOutputStream passed = new ByteArrayOutputStream(length + 1);
        for (int i = 0; i < length && !left; i++) {
            int key = typed[i];
            if (escaped) {
                escaped = false;
                left = key == 'q';
                if (!left && key != ESCAPE) {
                    passed.write(ESCAPE);
                }
                if (!left) {
                    passed.write(key);
                }
            } else if (key == ESCAPE) {
                escaped = true;
            } else {
                passed.write(key);
            }
        }
        return passed.toByteArray();
    }

    boolean left() {
        return left;
    }
}
