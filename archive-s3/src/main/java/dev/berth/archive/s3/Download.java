package dev.berth.archive.s3;

import dev.berth.sandbox.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * Fetches an object into a new file, or leaves none. When the connection breaks on the way it goes on where it was, with
 * the same version of the object; at the end the bytes have to be those that {@link Upload} sent.
 */
final class Download {
    private static final int ATTEMPTS = 3;
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final Set<OpenOption> NEW = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);

    private final S3Client s3;
    private final S3Config config;
    private final Patience patience;
    private final InstantSource clock;
    private final String key;

    private final MessageDigest digest = Fingerprint.newSha256();
    private long received;

    Download(S3Client s3, S3Config config, Patience patience, InstantSource clock, String key) {
        this.s3 = s3;
        this.config = config;
        this.patience = patience;
        this.clock = clock;
        this.key = key;
    }

    void to(Path target) throws IOException {
        ResponseInputStream<GetObjectResponse> first = request(null);
        GetObjectResponse object = first.response();
        try (OutputStream out = create(target, first)) {
            try {
                receive(first, object, out);
                String sha256 = object.metadata().get(Upload.SHA256);
                if (sha256 != null && !sha256.equals(HexFormat.of().formatHex(digest.digest()))) {
                    throw SandboxException.unavailable(
                            "could not fetch " + key + " from " + config.location()
                                    + ": other bytes came back than were archived; try again, and check the store if it stays so");
                }
            } catch (IOException | RuntimeException | Error e) {
                Files.deleteIfExists(target);
                throw e;
            }
        }
    }

    private static OutputStream create(Path target, ResponseInputStream<GetObjectResponse> first) throws IOException {
        try {
            return Channels.newOutputStream(FileChannel.open(target, NEW, OWNER_ONLY));
        } catch (IOException | RuntimeException e) {
            first.abort();
            throw e;
        }
    }

    private void receive(ResponseInputStream<GetObjectResponse> first, GetObjectResponse object, OutputStream out)
            throws IOException {
        Instant deadline = clock.instant().plus(patience.totalFor(object.contentLength()));
        ResponseInputStream<GetObjectResponse> in = first;
        for (int attempt = 1; ; attempt++) {
            try {
                receive(in, object.contentLength(), out, deadline);
                return;
            } catch (BrokenConnection e) {
                if (attempt == ATTEMPTS) {
                    throw SdkClientException.create("the connection broke " + ATTEMPTS + " times", e.getCause());
                }
                in = request(object.eTag());
            }
        }
    }

    private void receive(ResponseInputStream<GetObjectResponse> in, long size, OutputStream out, Instant deadline)
            throws IOException {
        byte[] buffer = new byte[64 * 1024];
        try {
            while (received < size) {
                int n = read(in, buffer);
                out.write(buffer, 0, n);
                digest.update(buffer, 0, n);
                received += n;
                if (clock.instant().isAfter(deadline)) {
                    throw SandboxException.unavailable("could not fetch " + key + " from " + config.location()
                            + ": only " + received + " of " + size + " bytes came in time; check the connection");
                }
            }
        } finally {
            in.abort(); // at its end this costs nothing, and before it the rest is not wanted
        }
    }

    private static int read(ResponseInputStream<GetObjectResponse> in, byte[] buffer) throws BrokenConnection {
        try {
            int n = in.read(buffer);
            if (n < 0) {
                throw new EOFException("the answer ended too early");
            }
            return n;
        } catch (IOException e) {
            throw new BrokenConnection(e);
        }
    }

    private ResponseInputStream<GetObjectResponse> request(@Nullable String version) {
        return s3.getObject(it -> {
            it.bucket(config.bucket()).key(key);
            if (version != null) {
                it.range("bytes=" + received + "-").ifMatch(version);
            }
        });
    }

    /** Tells a failure to read, after which one can go on, from a failure to write. */
    private static final class BrokenConnection extends IOException {
        BrokenConnection(IOException cause) {
            super(cause);
        }
    }
}
