package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The keys by which secrets in the database are sealed, the newest first: those that the operator gives, and then those
 * that are kept, so that one may take the place of the other. Without them nothing that is sealed can be opened.
 */
final class SealingKeys {
    private static final Pattern KEY = Pattern.compile("[0-9a-fA-F]{64}");

    private final KeyFiles files;
    private final Optional<String> given;
    private final Optional<Path> file;

    /**
     * @param given one or more of them
     * @param file of the operator's, with one or more
     */
    SealingKeys(KeyFiles files, Optional<String> given, Optional<Path> file) {
        this.files = files;
        this.given = given;
        this.file = file;
    }

    /** Those that are kept alone. */
    static SealingKeys kept(KeyFiles files) {
        return new SealingKeys(files, Optional.empty(), Optional.empty());
    }

    /** As they are now. One is made if there is none at all. */
    List<byte[]> read() {
        List<String> keys = new ArrayList<>();
        given.ifPresent(text -> keys.addAll(split(text, "BERTH_SEALING_KEY")));
        file.ifPresent(path -> keys.addAll(split(content(path), path.toString())));
        keys.addAll(kept());
        if (keys.isEmpty()) {
            keys.add(random());
            files.write(KeyFiles.SEALING, keys.getFirst());
        }
        return keys.stream().distinct().map(HexFormat.of()::parseHex).toList();
    }

    /** Puts a new one before those that are kept. */
    void add() {
        List<String> before = kept();
        if (before.isEmpty()) {
            throw SandboxException.conflict("there is no key in " + files.file(KeyFiles.SEALING)
                    + "; if the server has its keys from elsewhere, put a new one in front there and restart it");
        }
        write(Stream.concat(Stream.of(random()), before.stream()).toList());
    }

    /** Lets go of all that are kept but the newest. */
    void dropOlder() {
        write(kept().subList(0, 1));
    }

    private List<String> kept() {
        return files.read(KeyFiles.SEALING)
                .map(text -> split(text, files.file(KeyFiles.SEALING).toString()))
                .orElse(List.of());
    }

    private void write(List<String> keys) {
        files.write(KeyFiles.SEALING, String.join("\n", keys));
    }

    private static String random() {
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    /** One a line, or with commas between them. */
    private static List<String> split(String text, String where) {
        List<String> keys = Arrays.stream(text.split("[,\\s]+"))
                .filter(key -> !key.isEmpty())
                .toList();
        if (keys.isEmpty() || !keys.stream().allMatch(key -> KEY.matcher(key).matches())) {
            throw SandboxException.conflict(where + " does not hold keys for sealing, which have 64 hexadecimal digits"
                    + " each, one a line; put back what was in it");
        }
        return keys;
    }

    private static String content(Path path) {
        try {
            return Files.readString(path);
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not read the keys for sealing in " + path + ": " + e.getMessage(), e);
        }
    }
}
