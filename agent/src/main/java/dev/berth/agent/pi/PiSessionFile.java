package dev.berth.agent.pi;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
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

    private final SandboxFiles files;
    private final String path;

    PiSessionFile(SandboxFiles files, String path) {
        this.files = files;
        this.path = path;
    }

    /** Puts back what was kept outside if the sandbox has none of it that is of use, and repairs the end. */
    void prepare(Optional<byte[]> kept) {
        long size = size();
        if (size > 0 && !startsWell()) {
            // Set aside, not lost: a person may want to look at it.
            files.move(path, path + ".damaged");
            size = 0;
        }
        if (size == 0 && kept.isPresent() && kept.get().length > 0) {
            files.write(path, new ByteArrayInputStream(kept.get()), 0600);
            size = kept.get().length;
        }
        if (size > 0) {
            cutTornEnd(size);
        }
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
            int whole = tail.length;
            while (whole > 0 && tail[whole - 1] != '\n') {
                whole--;
            }
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
