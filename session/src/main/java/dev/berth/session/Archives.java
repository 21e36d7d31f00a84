package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import java.util.Set;

/**
 * Where the packed files of archived sessions are kept. A name is {@code [a-z0-9][a-z0-9.-]*}, at most 200 characters.
 *
 * <p>What can fail fails with {@code unavailable}. Every operation can be repeated.
 */
public interface Archives extends AutoCloseable {
    /** Keeps the bytes of a file under a name, replacing what was there. When this returns they are durable. */
    void put(String name, Path file);

    /** Writes what is kept under a name to a new file. Fails with {@code not_found} if there is nothing. */
    void get(String name, Path target);

    /** Removes it, if it is there. */
    void delete(String name);

    Set<String> names();

    @Override
    void close();

    /** Whether this is a name at all; other things that lie where archives are kept are passed over. */
    static boolean isName(String name) {
        return name.length() <= 200 && name.matches("[a-z0-9][a-z0-9.-]*");
    }

    /** Refuses what is not a name, with {@code invalid}. */
    static void requireName(String name) {
        if (!isName(name)) {
            throw SandboxException.invalid(
                    "'" + name.substring(0, Math.min(name.length(), 210))
                            + "' cannot name an archive: a name is up to 200 of a-z, 0-9, '.' and '-', and does not start with '.' or '-'");
        }
    }
}
