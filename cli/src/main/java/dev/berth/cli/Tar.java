package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/** A directory as a tar stream, made by tar(1) while it is read. */
final class Tar {
    private Tar() {}

    /** @param below where its contents are to be, relative to where the stream is unpacked */
    static <T> T of(Path directory, String below, Function<InputStream, T> use) throws IOException {
        String prefix = below.replaceAll("/+$", "");
        // A transformation of names is a program in sed's language; only what cannot mean something there may be in it.
        String escaped = prefix.replaceAll("([\\\\&|])", "\\\\$1");
        List<String> command = prefix.isEmpty()
                ? List.of("tar", "-C", directory.toString(), "-c", ".")
                : List.of(
                        "tar", "-C", directory.toString(), "--transform=flags=rSH;s|^\\.|" + escaped + "|", "-c", ".");
        Process tar =
                new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        try (InputStream stream = new BufferedInputStream(tar.getInputStream(), 64 << 10)) {
            tar.getOutputStream().close();
            T result = use.apply(stream);
            int status = tar.waitFor();
            if (status > 0 && status < 128) { // above that it was a signal: whoever read had read enough
                throw SandboxException.unavailable("tar could not read all of " + directory);
            }
            return result;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("tar was interrupted", e);
        } finally {
            tar.destroy();
        }
    }
}
