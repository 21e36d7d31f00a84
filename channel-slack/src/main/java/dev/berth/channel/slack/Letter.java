package dev.berth.channel.slack;

import java.util.Objects;

/**
 * What a message says.
 *
 * @param text all of it, or what a notification shows if there are blocks
 * @param blocks Block Kit as JSON; empty for none
 */
record Letter(String text, String blocks) {
    static Letter of(String text) {
        return new Letter(text, "");
    }

    String hash() {
        return Integer.toHexString(Objects.hash(text, blocks));
    }
}
