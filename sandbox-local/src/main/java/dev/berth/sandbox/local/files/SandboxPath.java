package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * A checked path of a sandbox: absolute, without empty and {@code .} components, short enough for the kernel.
 *
 * <p>A {@code ..} is kept, since only the kernel knows what it means behind a link; it never leads above the root.
 */
record SandboxPath(String text) {
    private static final int PATH_MAX = 4096;
    private static final int NAME_MAX = 255;

    static final SandboxPath ROOT = new SandboxPath("/");

    /** @throws SandboxException {@code invalid} if it cannot be a path */
    static SandboxPath parse(String path, String home) {
        if (path.isEmpty()) {
            throw SandboxException.invalid("could not use the path: it is empty; give the path of a file or directory");
        }
        if (path.indexOf('\0') >= 0) {
            throw SandboxException.invalid("could not use the path: it has a NUL character in it; remove that");
        }
        String absolute = path.startsWith("/") ? path : home + "/" + path;
        List<String> components = Arrays.stream(absolute.split("/"))
                .filter(c -> !c.isEmpty() && !c.equals("."))
                .toList();
        int length = 1;
        for (String component : components) {
            int size = encode(component).length;
            if (size > NAME_MAX) {
                throw SandboxException.invalid("could not use the path: a name in it has " + size
                        + " bytes; use names of at most " + NAME_MAX);
            }
            length += size + 1;
        }
        if (length > PATH_MAX) {
            throw SandboxException.invalid("could not use the path: it has " + length + " bytes; use one of less than "
                    + PATH_MAX + ", such as one relative to a link");
        }
        return new SandboxPath("/" + String.join("/", components));
    }

    byte[] bytes() {
        return encode(text);
    }

    boolean isRoot() {
        return text.length() == 1;
    }

    SandboxPath parent() {
        int slash = text.lastIndexOf('/');
        return slash <= 0 ? ROOT : new SandboxPath(text.substring(0, slash));
    }

    SandboxPath child(String name) {
        return new SandboxPath(isRoot() ? "/" + name : text + "/" + name);
    }

    String lastComponent() {
        return text.substring(text.lastIndexOf('/') + 1);
    }

    /** The last component, to be used in the parent directory. @throws SandboxException {@code invalid} if it is none */
    byte[] name(String doing) {
        String name = lastComponent();
        if (name.isEmpty() || name.equals("..")) {
            throw SandboxException.invalid("could not " + doing + " " + text + ": "
                    + (isRoot() ? "it is the root of the sandbox" : "it does not end in a name")
                    + "; name a file or directory below it");
        }
        return encode(name);
    }

    @Override
    public String toString() {
        return text;
    }

    private static byte[] encode(String text) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException e) {
            throw SandboxException.invalid("could not use the path: it has half a character in it; encode it as UTF-8");
        }
    }

    /** The text of a name from the kernel. What is not UTF-8 shows as U+FFFD, and cannot be addressed by a path. */
    static String decode(byte[] name) {
        return new String(name, StandardCharsets.UTF_8);
    }
}
