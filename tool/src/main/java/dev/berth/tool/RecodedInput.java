package dev.berth.tool;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** Text of another encoding as UTF-8; what cannot be decoded becomes a replacement character. */
final class RecodedInput extends InputStream {
    private static final int CHARS = 16 * 1024;

    private final Reader reader;
    private final CharsetEncoder encoder = StandardCharsets.UTF_8
            .newEncoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private final CharBuffer chars = CharBuffer.allocate(CHARS);
    private final ByteBuffer bytes = ByteBuffer.allocate(4 * CHARS).flip();
    private boolean end;

    RecodedInput(InputStream source, Charset charset) {
        this.reader = new InputStreamReader(source, charset);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, target.length);
        while (!bytes.hasRemaining()) {
            if (end) {
                return -1;
            }
            end = reader.read(chars) < 0;
            chars.flip();
            bytes.clear();
            var _ = encoder.encode(chars, bytes, end);
            bytes.flip();
            chars.compact();
        }
        int n = Math.min(length, bytes.remaining());
        bytes.get(target, offset, n);
        return n;
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }
}
