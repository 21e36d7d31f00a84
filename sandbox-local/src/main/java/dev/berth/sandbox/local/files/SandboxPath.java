package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * A checked path of a sandbox, without empty and {@code .} components, short enough for the kernel. It is absolute, or
 * relative to the directory of a {@linkplain RootFiles#within view}, which itself is {@code .} then.
 *
 * <p>A {@code ..} is kept, since only the kernel knows what it means behind a link; it never leads above the root. The
 * caller of a view may not write one at all, but a link in it may have some.
 */
record SandboxPath(String text) {
    private static final int PATH_MAX = 4096;
    private static final int NAME_MAX = 255;

    static final SandboxPath ROOT = new SandboxPath("/");
    static final SandboxPath TOP = new SandboxPath(".");

    /** @throws SandboxException {@code invalid} if it cannot be a path */
    static SandboxPath parse(String path, String home) {
        check(path);
        return new SandboxPath("/" + String.join("/", components(path.startsWith("/") ? path : home + "/" + path)));
    }

    /** As a user writes it: {@code ~} is their home, and so is nothing at all. */
    static SandboxPath parseOf(String path, String home) {
        if (path.isEmpty() || path.equals("~")) {
            return parse(home, "/");
        }
        return parse(path.startsWith("~/") ? "./" + path.substring(2) : path, home);
    }

    /** As the caller of a view gives it. @throws SandboxException {@code denied} if it leads outside by its words */
    static SandboxPath parseBelow(String path) {
        check(path);
        if (path.startsWith("/")) {
            throw SandboxException.denied("could not use the path " + path
                    + ": it is absolute, which leads outside of the workspace; use one relative to the workspace");
        }
        List<String> components = components(path);
        if (components.contains("..")) {
            throw SandboxException.denied("could not use the path " + path
                    + ": it has '..' in it, which may lead outside of the workspace; use one without");
        }
        return relative(components);
    }

    /** Where this leads if it is a link to that. @throws SandboxException {@code denied} if it leaves a view at once */
    SandboxPath linkedTo(String target) {
        if (text.startsWith("/")) {
            return parse(target, parent().text());
        }
        check(target);
        if (target.startsWith("/")) {
            throw FileErrors.outside(this);
        }
        return relative(components(parent().text() + "/" + target));
    }

    private static SandboxPath relative(List<String> components) {
        return components.isEmpty() ? TOP : new SandboxPath(String.join("/", components));
    }

    private static void check(String path) {
        if (path.isEmpty()) {
            throw SandboxException.invalid("could not use the path: it is empty; give the path of a file or directory");
        }
        if (path.indexOf('\0') >= 0) {
            throw SandboxException.invalid("could not use the path: it has a NUL character in it; remove that");
        }
    }

    private static List<String> components(String path) {
        List<String> components = Arrays.stream(path.split("/"))
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
        return components;
    }

    byte[] bytes() {
        return encode(text);
    }

    /** Whether there is nothing above it: the root, or the directory of a view. */
    boolean isRoot() {
        return text.equals("/") || text.equals(".");
    }

    SandboxPath parent() {
        int slash = text.lastIndexOf('/');
        if (slash > 0) {
            return new SandboxPath(text.substring(0, slash));
        }
        return slash == 0 ? ROOT : TOP;
    }

    SandboxPath child(String name) {
        return switch (text) {
            case "." -> new SandboxPath(name);
            case "/" -> new SandboxPath("/" + name);
            default -> new SandboxPath(text + "/" + name);
        };
    }

    String lastComponent() {
        return text.substring(text.lastIndexOf('/') + 1);
    }

    /** The last component, to be used in the parent directory. @throws SandboxException {@code invalid} if it is none */
    byte[] name(String doing) {
        String name = lastComponent();
        if (isRoot() || name.equals("..")) {
            throw SandboxException.invalid("could not " + doing + " " + text + ": "
                    + (isRoot() ? "it is the top directory itself" : "it does not end in a name")
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
