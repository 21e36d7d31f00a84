package dev.berth.egress;

import dev.berth.sandbox.Connection;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Objects;

/** A connection of which something was read that is to be read again. */
final class PushedBack implements Connection {
    private final Connection connection;
    private final InputStream input;

    PushedBack(byte[] read, Connection connection) {
        this.connection = connection;
        this.input = read.length == 0 ? connection.input() : new Again(read, connection.input());
    }

    @Override
    public InputStream input() {
        return input;
    }

    @Override
    public OutputStream output() {
        return connection.output();
    }

    @Override
    public void close() {
        connection.close();
    }

    /** Unlike {@link java.io.SequenceInputStream} it takes no lock, so that closing does not wait for a reader. */
    private static final class Again extends InputStream {
        private final byte[] first;
        private final InputStream rest;
        private int at;

        Again(byte[] first, InputStream rest) {
            this.first = first;
            this.rest = rest;
        }

        @Override
        public int read() throws IOException {
            return at < first.length ? Byte.toUnsignedInt(first[at++]) : rest.read();
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, target.length);
            if (at == first.length) {
                return rest.read(target, offset, length);
            }
            int n = Math.min(length, first.length - at);
            System.arraycopy(first, at, target, offset, n);
            at += n;
            return n;
        }

        @Override
        public int available() throws IOException {
            return at < first.length ? first.length - at : rest.available();
        }

        @Override
        public void close() throws IOException {
            rest.close();
        }
    }
}
