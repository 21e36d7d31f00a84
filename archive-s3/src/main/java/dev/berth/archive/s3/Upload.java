package dev.berth.archive.s3;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;
import software.amazon.awssdk.services.s3.model.CompletedPart;

/**
 * Sends a file, in one request or in parts.
 *
 * <p>Every byte goes from the file to the socket, so the size of a part costs no memory; it is what has to be sent again
 * when a connection breaks. The store gets the SHA-256 of each request beforehand and refuses what differs. The SHA-256 of
 * the whole file goes along as metadata, by which {@link Download} knows that it got back what was sent, whatever the
 * store itself checks. An object appears under its key by the last request and whole; until then there are parts, which
 * are removed again if that request is not reached.
 */
final class Upload {
    /** The metadata with the SHA-256 of the file, in hexadecimal. */
    static final String SHA256 = "sha256";

    private static final long MIB = 1024 * 1024;
    /** From this size on a file goes in parts. */
    private static final long LARGE = 64 * MIB;

    private static final long PART = 16 * MIB;
    private static final long MOST_PARTS = 10_000;
    private static final Logger LOG = LoggerFactory.getLogger(Upload.class);

    private final S3Client s3;
    private final S3Config config;
    private final Patience patience;
    private final InstantSource clock;

    Upload(S3Client s3, S3Config config, Patience patience, InstantSource clock) {
        this.s3 = s3;
        this.config = config;
        this.patience = patience;
        this.clock = clock;
    }

    void send(Path source, String key) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(source.toFile(), "r")) {
            Fingerprint fingerprint = Fingerprint.of(file, partSize(file.length()));
            if (fingerprint.parts().size() == 1) {
                sendWhole(file, fingerprint, key);
            } else {
                sendParts(file, fingerprint, key);
            }
        }
    }

    static long partSize(long size) {
        if (size < LARGE) {
            return LARGE;
        }
        return Math.max(PART, Math.ceilDiv(Math.ceilDiv(size, MOST_PARTS), MIB) * MIB);
    }

    private void sendWhole(RandomAccessFile file, Fingerprint fingerprint, String key) {
        String checksum = fingerprint.parts().getFirst();
        String stored = s3.putObject(
                        it -> it.bucket(config.bucket())
                                .key(key)
                                .metadata(Map.of(SHA256, fingerprint.sha256()))
                                .checksumSHA256(checksum)
                                .overrideConfiguration(patience.forBytes(fingerprint.size())),
                        body(file, 0, fingerprint.size()))
                .checksumSHA256();
        confirm(checksum, stored);
    }

    private void sendParts(RandomAccessFile file, Fingerprint fingerprint, String key) {
        Instant deadline = clock.instant().plus(Patience.LONGEST);
        String upload = s3.createMultipartUpload(it -> it.bucket(config.bucket())
                        .key(key)
                        .metadata(Map.of(SHA256, fingerprint.sha256()))
                        .checksumAlgorithm(ChecksumAlgorithm.SHA256))
                .uploadId();
        try {
            List<CompletedPart> parts = new ArrayList<>();
            for (int i = 0; i < fingerprint.parts().size(); i++) {
                if (clock.instant().isAfter(deadline)) {
                    throw SandboxException.unavailable("could not archive to " + config.location() + ": part "
                            + (i + 1) + " of " + fingerprint.parts().size() + " was not reached in "
                            + Patience.LONGEST.toHours() + " hours; check the connection");
                }
                parts.add(sendPart(file, fingerprint, key, upload, i));
            }
            s3.completeMultipartUpload(it -> it.bucket(config.bucket())
                    .key(key)
                    .uploadId(upload)
                    .multipartUpload(all -> all.parts(parts))
                    .overrideConfiguration(patience.forBytes(fingerprint.size())));
        } catch (RuntimeException | Error e) {
            abort(key, upload, e);
            throw e;
        }
    }

    private CompletedPart sendPart(
            RandomAccessFile file, Fingerprint fingerprint, String key, String upload, int index) {
        String checksum = fingerprint.parts().get(index);
        long length = fingerprint.length(index);
        var stored = s3.uploadPart(
                it -> it.bucket(config.bucket())
                        .key(key)
                        .uploadId(upload)
                        .partNumber(index + 1)
                        .checksumSHA256(checksum)
                        .overrideConfiguration(patience.forBytes(length)),
                body(file, index * fingerprint.partSize(), length));
        confirm(checksum, stored.checksumSHA256());
        return CompletedPart.builder()
                .partNumber(index + 1)
                .eTag(stored.eTag())
                .checksumSHA256(checksum)
                .build();
    }

    private static RequestBody body(RandomAccessFile file, long start, long length) {
        return RequestBody.fromContentProvider(
                () -> new Slice(file, start, length), length, "application/octet-stream");
    }

    /** Stores that know checksums answer with the one of what they have. */
    private void confirm(String sent, @Nullable String stored) {
        if (!Optional.ofNullable(stored).orElse(sent).equals(sent)) {
            throw SandboxException.unavailable("could not archive to " + config.location()
                    + ": the store has other bytes than were sent; try again");
        }
    }

    /** Also when this thread was interrupted: the parts would stay, unseen, and cost money. */
    private void abort(String key, String upload, Throwable reason) {
        boolean interrupted = Thread.interrupted();
        try {
            s3.abortMultipartUpload(it -> it.bucket(config.bucket()).key(key).uploadId(upload));
        } catch (SdkException e) {
            reason.addSuppressed(e);
            LOG.warn(
                    "could not remove the parts of an upload that failed, {} in {}; they are removed when archives are "
                            + "opened there a day from now",
                    key,
                    config.location());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
