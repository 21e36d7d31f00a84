package dev.berth.egress;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * What a program says first on a connection.
 *
 * @param bytes all that was read; empty if it said nothing and left
 */
record Opening(byte[] bytes, ClientHello hello) {

    /** Reads as much as is needed to know what it is, and no more than has come. */
    static Opening read(InputStream input) throws IOException {
        byte[] buffer = new byte[2048];
        int filled = 0;
        int needed = 1;
        while (true) {
            if (needed > buffer.length) {
                buffer = Arrays.copyOf(buffer, needed);
            }
            int n = input.read(buffer, filled, buffer.length - filled);
            if (n < 0) {
                return new Opening(Arrays.copyOf(buffer, filled), new ClientHello.Partial(needed));
            }
            filled += n;
            if (filled >= needed) {
                ClientHello hello = ClientHello.read(buffer, filled);
                if (!(hello instanceof ClientHello.Partial partial)) {
                    return new Opening(Arrays.copyOf(buffer, filled), hello);
                }
                needed = partial.needed();
            }
        }
    }
}
