package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.OptionalInt;

/**
 * Makes a file with its missing parents, replaces it at once, or adds to it.
 *
 * @param path relative to the workspace
 * @param mode permission bits; what the file has, or 0644, if empty
 */
public record FileWrite(String path, byte[] content, boolean append, OptionalInt mode) {
    public FileWrite {
        path = Workspace.filePath("write", path);
        if (mode.isPresent() && (mode.getAsInt() & ~0777) != 0) {
            throw SandboxException.invalid("could not write " + path + ": " + Integer.toOctalString(mode.getAsInt())
                    + " is no mode for a file; use octal permission bits such as 644 or 755");
        }
    }

    /** How the bytes of a file are written in a text. */
    public enum Encoding {
        UTF_8,
        BASE64;

        public static Encoding parse(String name) {
            return switch (name) {
                case "utf-8" -> UTF_8;
                case "base64" -> BASE64;
                default ->
                    throw SandboxException.invalid(
                            "there is no encoding '" + Texts.cut(name, 50) + "'; use utf-8 or base64");
            };
        }

        /** @throws SandboxException {@code invalid} if the text is not written this way */
        public byte[] decode(String content) {
            return switch (this) {
                case UTF_8 -> utf8(content);
                case BASE64 -> base64(content);
            };
        }

        private static byte[] utf8(String content) {
            try {
                ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(content));
                byte[] bytes = new byte[encoded.remaining()];
                encoded.get(bytes);
                return bytes;
            } catch (CharacterCodingException e) {
                throw SandboxException.invalid("could not take the content: it has half a character (a lone surrogate)"
                        + " in it; send binary content with the encoding base64");
            }
        }

        private static byte[] base64(String content) {
            try {
                return Base64.getMimeDecoder().decode(checkedBase64(content));
            } catch (IllegalArgumentException e) {
                throw SandboxException.invalid("could not take the content: it is not base64 (" + e.getMessage()
                        + "); encode it anew, or send text with the encoding utf-8");
            }
        }

        /** Line breaks are fine, anything else that is not base64 is not left out silently. */
        private static String checkedBase64(String content) {
            for (int i = 0; i < content.length(); i++) {
                char c = content.charAt(i);
                boolean fits = (c >= 'A' && c <= 'Z')
                        || (c >= 'a' && c <= 'z')
                        || (c >= '0' && c <= '9')
                        || "+/=\r\n".indexOf(c) >= 0;
                if (!fits) {
                    throw new IllegalArgumentException("an odd character at position " + i);
                }
            }
            return content;
        }
    }

    public static FileWrite of(String path, String content) {
        return new FileWrite(path, Encoding.UTF_8.decode(content), false, OptionalInt.empty());
    }

    /** What was done. */
    public record Written(String path, long bytesWritten, boolean created) {}

    public Written run(Workspace workspace) {
        SandboxFiles files = workspace.files();
        boolean created = !files.exists(path);
        var bytes = new ByteArrayInputStream(content);
        if (append) {
            files.append(path, bytes);
            mode.ifPresent(bits -> files.chmod(path, bits));
        } else if (mode.isPresent()) {
            files.write(path, bytes, mode.getAsInt());
        } else {
            files.write(path, bytes);
        }
        return new Written(path, content.length, created);
    }
}
