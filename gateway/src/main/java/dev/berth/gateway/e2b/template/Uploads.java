package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The archives that clients send for their builds, on this server's disk. A client calls one by a hash of its own making, so
 * each tenant has a directory to itself, and what is in it is believed by nobody else. They go a day after their last use.
 *
 * <p>Whoever sends one has no key with him, only an address that this server has signed: for one tenant, one hash and an
 * hour.
 */
final class Uploads {
    static final long LARGEST = 4L << 30;
    private static final long MOST_OF_A_TENANT = 20L << 30;
    private static final Duration KEPT = Duration.ofDays(1);
    private static final Duration VALID = Duration.ofHours(1);
    private static final Pattern HASH = Pattern.compile("[A-Za-z0-9_-]{16,128}");
    private static final String PURPOSE = "template-upload";
    private static final String SUFFIX = ".tar";
    private static final String PART = ".part";

    /** Bytes that are being sent, by where they go. */
    private final Map<Path, Long> underWay = new ConcurrentHashMap<>();

    private final Path directory;
    private final Tokens tokens;
    private final InstantSource clock;

    Uploads(Path directory, Tokens tokens, InstantSource clock) {
        this.directory = directory;
        this.tokens = tokens;
        this.clock = clock;
    }

    /** Whether it is here; if it is, it stays for a while. */
    boolean present(String tenant, String hash) {
        try {
            Files.setLastModifiedTime(file(tenant, hash), FileTime.from(clock.instant()));
            return true;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not look for what was uploaded: " + e.getMessage(), e);
        }
    }

    Optional<Path> find(String tenant, String hash) {
        return present(tenant, hash) ? Optional.of(file(tenant, hash)) : Optional.empty();
    }

    /** What follows {@code /templates/uploads/} in the address that it may be sent to. */
    String ticket(String tenant, String hash) {
        Path _ = file(tenant, hash); // or there could be no such file
        String what = HexFormat.of().formatHex(tenant.getBytes(StandardCharsets.UTF_8)) + "." + hash + "."
                + clock.instant().plus(VALID).getEpochSecond();
        return what + "." + tokens.of(PURPOSE, what);
    }

    /** Takes what is sent to such an address. */
    void take(String ticket, Optional<Long> length, InputStream body) {
        String[] parts = ticket.split("\\.", -1);
        if (parts.length != 4
                || !Tokens.same(tokens.of(PURPOSE, parts[0] + "." + parts[1] + "." + parts[2]), parts[3])) {
            throw new E2bError(403, "this address is not one that this server gave out");
        }
        if (clock.instant().getEpochSecond() > Long.parseLong(parts[2])) {
            throw new E2bError(403, "this address is no longer valid; ask for a new one");
        }
        if (length.orElse(0L) > LARGEST) {
            throw new E2bError(413, "an upload has at most " + (LARGEST >> 30) + " GB");
        }
        String tenant = new String(HexFormat.of().parseHex(parts[0]), StandardCharsets.UTF_8);
        try {
            store(file(tenant, parts[1]), length, body);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not keep what was uploaded: " + e.getMessage(), e);
        }
    }

    private void store(Path target, Optional<Long> length, InputStream body) throws IOException {
        Path home = privateDirectory(Objects.requireNonNull(target.getParent()));
        long wanted = length.orElse(LARGEST);
        reserve(home, wanted);
        try {
            write(home, target, length, body);
        } finally {
            release(home, wanted);
        }
    }

    /** Counts what others are about to send, or many at once would all find room. */
    private void reserve(Path home, long wanted) throws IOException {
        long stored = used(home);
        long all = underWay.merge(home, wanted, Long::sum);
        if (stored + all > MOST_OF_A_TENANT) {
            release(home, wanted);
            throw new E2bError(
                    507, "uploads of one day have at most " + (MOST_OF_A_TENANT >> 30) + " GB; try again later");
        }
    }

    private void release(Path home, long wanted) {
        underWay.computeIfPresent(home, (_, all) -> all == wanted ? null : all - wanted);
    }

    private void write(Path home, Path target, Optional<Long> length, InputStream body) throws IOException {
        Path part = home.resolve(UUID.randomUUID() + PART);
        try {
            long written = 0;
            byte[] buffer = new byte[1 << 16];
            try (OutputStream out = Files.newOutputStream(part)) {
                for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
                    written += n;
                    if (written > LARGEST) {
                        throw new E2bError(413, "an upload has at most " + (LARGEST >> 30) + " GB");
                    }
                    out.write(buffer, 0, n);
                }
            }
            if (length.isPresent() && length.get() != written) {
                throw new E2bError(400, "the upload was cut short; send it again");
            }
            Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
            Files.setLastModifiedTime(target, FileTime.from(clock.instant()));
        } finally {
            Files.deleteIfExists(part);
        }
    }

    /** Removes what nobody asked for in a day. */
    void sweep() {
        Instant oldest = clock.instant().minus(KEPT);
        if (!Files.isDirectory(directory)) {
            return;
        }
        try (DirectoryStream<Path> homes = Files.newDirectoryStream(directory)) {
            for (Path home : homes) {
                try (DirectoryStream<Path> files = Files.newDirectoryStream(home)) {
                    for (Path file : files) {
                        if (lastModified(file).isBefore(oldest)) {
                            Files.deleteIfExists(file);
                        }
                    }
                }
            }
        } catch (IOException e) {
            throw SandboxException.unavailable("could not sweep up uploads: " + e.getMessage(), e);
        }
    }

    /** Of one that goes at this moment, now. */
    private Instant lastModified(Path file) throws IOException {
        try {
            return Files.getLastModifiedTime(file).toInstant();
        } catch (NoSuchFileException e) {
            return clock.instant();
        }
    }

    /** Of what is there whole; the rest is counted as under way. */
    private static long used(Path home) throws IOException {
        long sum = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(home, "*" + SUFFIX)) {
            for (Path file : files) {
                try {
                    sum += Files.size(file);
                } catch (NoSuchFileException e) {
                    // Swept up at this moment.
                }
            }
        }
        return sum;
    }

    private Path file(String tenant, String hash) {
        if (!HASH.matcher(hash).matches()) {
            throw new E2bError(400, "invalid files hash");
        }
        return directory.resolve(sha256(tenant)).resolve(hash + SUFFIX);
    }

    private static Path privateDirectory(Path path) throws IOException {
        return Files.createDirectories(
                path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    /** A tenant's name may be none for a file. */
    private static String sha256(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)))
                    .substring(0, 32);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
