package dev.berth.archive.s3;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.Archives;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.MultipartUpload;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;

/**
 * Archives as objects in a bucket of S3, each under the prefix, a slash and its name. Other objects of the bucket are not
 * looked at. Any number of threads and servers may use one prefix.
 */
public final class S3Archives implements Archives {
    private static final Logger LOG = LoggerFactory.getLogger(S3Archives.class);
    /** Twice what the longest upload may take. */
    private static final Duration ABANDONED = Patience.LONGEST.multipliedBy(2);

    private final S3Client s3;
    private final S3Config config;
    private final Patience patience;
    private final InstantSource clock;

    private S3Archives(S3Client s3, S3Config config, Patience patience, InstantSource clock) {
        this.s3 = s3;
        this.config = config;
        this.patience = patience;
        this.clock = clock;
    }

    /** Opens archives after making sure that the bucket is there and may be used. */
    public static S3Archives open(S3Config config) {
        return open(config, Patience.DEFAULT, InstantSource.system());
    }

    static S3Archives open(S3Config config, Patience patience, InstantSource clock) {
        S3Archives archives = new S3Archives(S3Connection.open(config, patience), config, patience, clock);
        try {
            archives.check();
            archives.removeAbandoned();
            return archives;
        } catch (RuntimeException | Error e) {
            archives.close();
            throw e;
        }
    }

    /** Lists rather than asks for the bucket: it takes the same permission, and a refusal comes with its reason. */
    private void check() {
        try {
            s3.listObjectsV2(it -> it.bucket(config.bucket())
                    .prefix(config.keyPrefix())
                    .delimiter("/")
                    .maxKeys(1));
        } catch (SdkException e) {
            throw S3Failure.of("open the archives in", config, e);
        }
    }

    /** Parts of uploads whose server crashed are seen by nobody, and paid for. Being allowed to find them is optional. */
    private void removeAbandoned() {
        Instant latest = clock.instant().minus(ABANDONED);
        try {
            for (MultipartUpload upload : s3.listMultipartUploadsPaginator(
                            it -> it.bucket(config.bucket()).prefix(config.keyPrefix()))
                    .uploads()) {
                if (isOurs(upload.key()) && upload.initiated().isBefore(latest)) {
                    s3.abortMultipartUpload(
                            it -> it.bucket(config.bucket()).key(upload.key()).uploadId(upload.uploadId()));
                }
            }
        } catch (SdkException e) {
            LOG.info(
                    "could not look for parts that a crash has left in {}: {}; a lifecycle rule with "
                            + "AbortIncompleteMultipartUpload does the same",
                    config.location(),
                    e.getMessage());
        }
    }

    @Override
    public void put(String name, Path file) {
        Archives.requireName(name);
        try {
            new Upload(s3, config, patience, clock).send(file, config.key(name));
        } catch (SdkException e) {
            throw S3Failure.of("archive " + file + " as '" + name + "' in", config, e);
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not archive " + file + " as '" + name + "': it cannot be read: " + e.getMessage()
                            + "; check that it is there and may be read",
                    e);
        }
    }

    @Override
    public void get(String name, Path target) {
        Archives.requireName(name);
        try {
            new Download(s3, config, patience, clock, config.key(name)).to(target);
        } catch (NoSuchKeyException e) {
            throw SandboxException.notFound("there is no archive '" + name + "' in " + config.location());
        } catch (SdkException e) {
            throw S3Failure.of("fetch the archive '" + name + "' from", config, e);
        } catch (FileAlreadyExistsException e) {
            throw SandboxException.conflict(
                    "could not fetch the archive '" + name + "': " + target + " is there already; choose a new file");
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not fetch the archive '" + name + "' to " + target + ": " + e
                            + "; check the space and the permissions there",
                    e);
        }
    }

    @Override
    public void delete(String name) {
        Archives.requireName(name);
        try {
            s3.deleteObject(it -> it.bucket(config.bucket()).key(config.key(name)));
        } catch (NoSuchKeyException e) {
            // Amazon does not say this; others do.
        } catch (SdkException e) {
            throw S3Failure.of("remove the archive '" + name + "' from", config, e);
        }
    }

    @Override
    public Set<String> names() {
        Set<String> names = new TreeSet<>();
        try {
            s3.listObjectsV2Paginator(it -> it.bucket(config.bucket())
                            .prefix(config.keyPrefix())
                            .delimiter("/"))
                    .contents()
                    .forEach(object -> {
                        if (isOurs(object.key())) {
                            names.add(object.key().substring(config.keyPrefix().length()));
                        }
                    });
        } catch (SdkException e) {
            throw S3Failure.of("list the archives in", config, e);
        }
        return names;
    }

    private boolean isOurs(String key) {
        return key.startsWith(config.keyPrefix())
                && Archives.isName(key.substring(config.keyPrefix().length()));
    }

    @Override
    public void close() {
        s3.close();
    }
}
