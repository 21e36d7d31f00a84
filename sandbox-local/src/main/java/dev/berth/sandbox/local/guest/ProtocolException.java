package dev.berth.sandbox.local.guest;

import java.io.IOException;

/** The guest, or something that pretends to be it, broke the protocol; the connection is closed. */
final class ProtocolException extends IOException {
    ProtocolException(String message) {
        super(message);
    }

    ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
