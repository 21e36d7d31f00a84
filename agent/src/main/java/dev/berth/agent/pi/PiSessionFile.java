package dev.berth.agent.pi;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Supplier;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * The file in which pi keeps a conversation, made fit to be resumed.
 *
 * <p>Some versions of pi write over a file whose first line is damaged, and lose the conversation of one whose last line is
 * torn. So the first is set aside here, and the second cut.
 */
final class PiSessionFile {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** A line is an entry: a message, perhaps with pictures. */
    private static final int TAIL = 64 << 20;

    private static final int PIECE = 4 << 20;

    private final SandboxFiles files;
    private final String path;

    PiSessionFile(SandboxFiles files, String path) {
        this.files = files;
        this.path = path;
    }

    String path() {
        return path;
    }

    /** Puts back what was kept outside if the sandbox has none of it that is of use, and repairs the end. */
    void prepare(Supplier<Optional<byte[]>> outside) {
        long size = size();
        if (size > 0 && !startsWell()) {
            // Set aside, not lost: a person may want to look at it.
            files.move(path, path + ".damaged");
            size = 0;
        }
        if (size == 0) {
            byte[] kept = outside.get().orElse(new byte[0]);
            if (kept.length > 0) {
                files.write(path, new ByteArrayInputStream(kept), 0600);
            }
            size = kept.length;
        }
        if (size > 0) {
            cutTornEnd(size);
        }
    }

    /** The whole lines from a byte on, as many as fit into a piece, or one that is longer. */
    byte[] lines(long from) {
        byte[] lines = lines(from, PIECE);
        return lines.length > 0 || size() - from < PIECE ? lines : lines(from, TAIL);
    }

    private byte[] lines(long from, int most) {
        try (InputStream in = files.read(path, from, most)) {
            byte[] piece = in.readAllBytes();
            return Arrays.copyOf(piece, whole(piece));
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return new byte[0]; // nothing was said yet
            }
            throw e;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read " + path, e);
        }
    }

    private static int whole(byte[] piece) {
        int whole = piece.length;
        while (whole > 0 && piece[whole - 1] != '\n') {
            whole--;
        }
        return whole;
    }

    private long size() {
        try {
            return files.stat(path).size();
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return 0;
            }
            throw e;
        }
    }

    private boolean startsWell() {
        try (InputStream in = files.read(path, 0, 64 << 10)) {
            String start = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            int end = start.indexOf('\n');
            return end > 0
                    && JSON.readTree(start.substring(0, end))
                            .path("type")
                            .asString("")
                            .equals("session");
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read " + path, e);
        } catch (JacksonException e) {
            return false;
        }
    }

    private void cutTornEnd(long size) {
        long from = Math.max(0, size - TAIL);
        try (InputStream in = files.read(path, from, TAIL)) {
            byte[] tail = in.readAllBytes();
            int whole = whole(tail);
            if (whole == tail.length || whole == 0) {
                return;
            }
            try (InputStream all = files.read(path, 0, from + whole)) {
                files.write(path, all);
            }
        } catch (IOException e) {
            throw SandboxException.unavailable("could not repair " + path, e);
        }
    }
}
