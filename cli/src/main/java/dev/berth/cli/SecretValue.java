package dev.berth.cli;

import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Reads the value of a secret: from a file, from a terminal without showing it, or from whatever standard input is. */
final class SecretValue {
    /** More than any server takes; it is for the server to say how much that is. */
    private static final int MOST = 1 << 20;

    private SecretValue() {}

    static String read(String name, Optional<Path> file, Console console) {
        byte[] bytes = file.map(SecretValue::content)
                .orElseGet(() -> Terminal.isStandardInput() ? typed(name, console) : piped(System.in));
        String value = withoutLineEnd(text(bytes));
        if (value.isEmpty()) {
            throw new UsageException("the value is empty; give it by standard input or --from-file");
        }
        return value;
    }

    private static byte[] content(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return piped(in);
        } catch (IOException e) {
            throw SandboxException.notFound("could not read " + file + "; is it there, and readable for this user?");
        }
    }

    private static byte[] piped(InputStream in) {
        try {
            byte[] bytes = in.readNBytes(MOST + 1);
            if (bytes.length > MOST) {
                throw SandboxException.invalid("this is too much for a secret, which has 64 KiB at most");
            }
            return bytes;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read the value: " + e.getMessage(), e);
        }
    }

    private static byte[] typed(String name, Console console) {
        try (Terminal terminal = Terminal.open("there is no terminal to type the value on")) {
            terminal.hideTyping();
            console.err().print("Value of " + name + " (not shown): ");
            console.err().flush();
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int c = System.in.read(); c >= 0 && c != '\n'; c = System.in.read()) {
                line.write(c);
            }
            return line.toByteArray();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read the value: " + e.getMessage(), e);
        } finally {
            console.err().println();
        }
    }

    private static String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw SandboxException.invalid("the value is not UTF-8 text");
        }
    }

    /** Editors and echo put one there, which is no part of the value. */
    private static String withoutLineEnd(String text) {
        String line = text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
        return line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
    }
}
