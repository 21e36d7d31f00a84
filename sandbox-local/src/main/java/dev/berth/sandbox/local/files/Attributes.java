package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The extended attributes of a file that programs of the sandbox may set, those of the name space {@code user} (xattr(7)).
 * Others, which could be capabilities or an overlay's own, are neither told nor touched.
 */
final class Attributes {
    private static final String SPACE = "user.";

    private Attributes() {}

    static Map<String, String> of(Fd file) throws ErrnoException {
        Map<String, String> attributes = new TreeMap<>();
        for (byte[] name : names(file)) {
            byte[] value = value(file, name);
            if (value != null) {
                attributes.put(text(name).substring(SPACE.length()), text(value));
            }
        }
        return Collections.unmodifiableMap(attributes);
    }

    static void check(String prefix, Map<String, String> attributes) {
        attributes.forEach((name, value) -> {
            if (name.isEmpty() || !name.startsWith(prefix) || name.indexOf('\0') >= 0) {
                throw SandboxException.invalid(
                        "could not set the attribute '" + name + "': its name has to begin with '" + prefix + "'");
            }
        });
    }

    static void replace(Fd file, String prefix, Map<String, String> attributes) throws ErrnoException {
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            FileCalls.setxattr(file, bytes(SPACE + attribute.getKey()), bytes(attribute.getValue()));
        }
        for (byte[] name : names(file)) {
            String own = text(name).substring(SPACE.length());
            if (own.startsWith(prefix) && !attributes.containsKey(own)) {
                remove(file, name);
            }
        }
    }

    /** Gives one file those of another. */
    static void copy(Fd from, Fd to) throws ErrnoException {
        for (byte[] name : names(from)) {
            byte[] value = value(from, name);
            if (value != null) {
                FileCalls.setxattr(to, name, value);
            }
        }
    }

    /** As bytes, since a name need not be UTF-8. */
    private static List<byte[]> names(Fd file) throws ErrnoException {
        byte[] all;
        try {
            all = FileCalls.listxattr(file);
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EOPNOTSUPP) {
                return List.of();
            }
            throw e;
        }
        List<byte[]> names = new ArrayList<>();
        int begin = 0;
        for (int i = 0; i < all.length; i++) {
            if (all[i] == 0) {
                byte[] name = Arrays.copyOfRange(all, begin, i);
                if (text(name).startsWith(SPACE)) {
                    names.add(name);
                }
                begin = i + 1;
            }
        }
        return names;
    }

    private static byte @Nullable [] value(Fd file, byte[] name) throws ErrnoException {
        try {
            return FileCalls.getxattr(file, name);
        } catch (ErrnoException e) {
            if (isGone(e)) {
                return null;
            }
            throw e;
        }
    }

    private static void remove(Fd file, byte[] name) throws ErrnoException {
        try {
            FileCalls.removexattr(file, name);
        } catch (ErrnoException e) {
            if (!isGone(e)) {
                throw e;
            }
        }
    }

    private static boolean isGone(ErrnoException e) {
        return e.errno() == ErrnoException.ENODATA;
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
