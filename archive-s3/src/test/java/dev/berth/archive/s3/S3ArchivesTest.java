package dev.berth.archive.s3;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.archive.s3.Relay.Watch;
import dev.berth.sandbox.ErrorCode;
import dev.berth.session.Archives;
import dev.berth.session.ArchivesContract;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.MultipartUpload;

class S3ArchivesTest extends ArchivesContract {
    private static final long MIB = 1024 * 1024;
    private static final Patience SHORT =
            new Patience(Duration.ofSeconds(2), Duration.ofSeconds(4), Duration.ofSeconds(4), 100 * MIB);

    @TempDir
    static Path home;

    private static TestingS3 server;
    private static final AtomicInteger BUCKETS = new AtomicInteger();

    private String bucket;
    private S3Archives archives;

    @BeforeAll
    static void startServer() throws IOException {
        server = TestingS3.start(Files.createDirectory(home.resolve("data")));
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void open() {
        bucket = "bucket-" + BUCKETS.incrementAndGet();
        try (S3Client s3 = S3Connection.open(server.config(bucket, ""), Patience.DEFAULT)) {
            s3.createBucket(it -> it.bucket(bucket));
        }
        archives = S3Archives.open(server.config(bucket, "berth/archives"));
    }

    @AfterEach
    void close() {
        archives.close();
    }

    @Override
    protected Archives archives() {
        return archives;
    }

    @Test
    void keepsAFileThatIsLargerThanTheHeap() throws IOException {
        Path file = randomFile(150 * MIB);
        assertThat(Files.size(file)).isGreaterThan(Runtime.getRuntime().maxMemory());

        archives.put("large", file);
        archives.get("large", work.resolve("back"));

        assertThat(Files.mismatch(file, work.resolve("back"))).isEqualTo(-1);
        assertThat(archives.names()).containsExactly("large");
        assertThat(unfinishedUploads()).isEmpty();
    }

    @Test
    void sendsFilesFromSixtyFourMebibytesOnInParts() throws IOException {
        Path file = randomFile(64 * MIB);
        archives.put("whole", randomFile(64 * MIB - 1));
        archives.put("parts", file);
        try (S3Client s3 = client()) {
            assertThat(eTag(s3, "whole")).doesNotContain("-");
            assertThat(eTag(s3, "parts")).endsWith("-4\"");
        }
        archives.get("parts", work.resolve("back"));
        assertThat(Files.mismatch(file, work.resolve("back"))).isEqualTo(-1);
    }

    @Test
    void needsNoMoreThanTenThousandPartsHoweverLargeAFileIs() {
        for (long size : List.of(64 * MIB, 1024 * MIB, 160_000 * MIB, 160_001 * MIB, 5_000_000 * MIB)) {
            assertThat(Math.ceilDiv(size, Upload.partSize(size)))
                    .as("parts of %s", size)
                    .isBetween(2L, 10_000L);
        }
    }

    @Test
    void keepsPrefixesApart() {
        try (Archives root = S3Archives.open(server.config(bucket, ""));
                Archives above = S3Archives.open(server.config(bucket, "berth"));
                Archives beside = S3Archives.open(server.config(bucket, "berth/archives2"))) {
            root.put("r", file("r"));
            above.put("a", file("a"));
            beside.put("b", file("b"));
            archives.put("own", file("own"));

            assertThat(root.names()).containsExactly("r");
            assertThat(above.names()).containsExactly("a");
            assertThat(beside.names()).containsExactly("b");
            assertThat(archives.names()).containsExactly("own");
            assertFails(ErrorCode.NOT_FOUND, () -> archives.get("b", work.resolve("back")));
            archives.delete("b");
            assertThat(content(beside, "b")).isEqualTo("b");
        }
    }

    @Test
    void namesMoreThanOnePageOfThem() {
        var expected = IntStream.range(0, 1005).mapToObj(i -> "n" + i).collect(Collectors.toSet());
        try (S3Client s3 = client()) {
            for (String name : expected) {
                s3.putObject(it -> it.bucket(bucket).key("berth/archives/" + name), RequestBody.fromString(""));
            }
        }
        assertThat(archives.names()).isEqualTo(expected);
    }

    @Test
    void passesOverWhatIsNoArchive() {
        try (S3Client s3 = client()) {
            s3.putObject(it -> it.bucket(bucket).key("berth/archives/READ_ME"), RequestBody.fromString(""));
            s3.putObject(it -> it.bucket(bucket).key("berth/archives/"), RequestBody.empty());
        }
        assertThat(archives.names()).isEmpty();
    }

    @Test
    void noticesWhenOtherBytesComeBack() {
        archives.put("a", file("what was archived"));
        try (S3Client s3 = client()) {
            var metadata = s3.headObject(it -> it.bucket(bucket).key("berth/archives/a"))
                    .metadata();
            assertThat(metadata).containsKey("sha256");
            s3.putObject(
                    it -> it.bucket(bucket).key("berth/archives/a").metadata(metadata),
                    RequestBody.fromString("something else"));
        }
        assertFails(ErrorCode.UNAVAILABLE, () -> archives.get("a", work.resolve("back")))
                .hasMessageContaining("other bytes came back");
        assertThat(work.resolve("back")).doesNotExist();
    }

    @Test
    void isDeniedWithAWrongSecretAndDoesNotTellIt() {
        var wrong = new S3Config.Credentials(TestingS3.CREDENTIALS.accessKeyId(), "a-wrong-secret", Optional.empty());
        assertFails(
                        ErrorCode.DENIED,
                        () -> S3Archives.open(server.config(bucket, "").withCredentials(wrong)))
                .hasMessageContaining(bucket)
                .hasMessageContaining("AWS_SECRET_ACCESS_KEY")
                .satisfies(e -> assertThat(stackTrace(e)).doesNotContain("a-wrong-secret"));

        var unknown = new S3Config.Credentials("nobody", "a-wrong-secret", Optional.empty());
        assertFails(
                ErrorCode.DENIED,
                () -> S3Archives.open(server.config(bucket, "").withCredentials(unknown)));
    }

    @Test
    void saysSoWhenThereIsNoSuchBucket() {
        assertFails(ErrorCode.UNAVAILABLE, () -> S3Archives.open(server.config("no-such-bucket", "")))
                .hasMessageContaining("there is no bucket 'no-such-bucket'");
    }

    @Test
    void isUnavailableWhenNobodyListens() throws IOException {
        try (Socket taken = new Socket()) {
            // Bound, so that nobody else gets the port, and not listening.
            taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertFails(
                            ErrorCode.UNAVAILABLE,
                            () -> S3Archives.open(TestingS3.config(taken.getLocalPort(), bucket, "")))
                    .hasMessageContaining("no connection was accepted")
                    .hasMessageContaining("check the endpoint");
        }
    }

    @Test
    void isUnavailableInTimeWhenNobodyAnswers() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Instant start = Instant.now();
            assertFails(
                            ErrorCode.UNAVAILABLE,
                            () -> S3Archives.open(
                                    TestingS3.config(silent.getLocalPort(), bucket, ""), SHORT, InstantSource.system()))
                    .hasMessageContaining("no answer in time");
            assertThat(Duration.between(start, Instant.now()))
                    .isBetween(SHORT.attempt(), SHORT.totalFor(0).plusSeconds(30));
        }
    }

    @Test
    void isUnavailableInTimeWhenTheServerStopsReadingInTheMiddleOfAnUpload() throws IOException {
        Path file = randomFile(50 * MIB);
        AtomicReference<Relay> network = new AtomicReference<>();
        try (Relay relay = new Relay(
                        server.port(), Watch.after(10 * MIB, () -> network.get().stall()), Watch.none());
                Archives behind = open(relay, network, SHORT)) {
            Instant start = Instant.now();
            assertFails(ErrorCode.UNAVAILABLE, () -> behind.put("a", file)).hasMessageContaining("no answer in time");
            assertThat(Duration.between(start, Instant.now()))
                    .isLessThan(SHORT.totalFor(50 * MIB).plusSeconds(30));
        }
        assertThat(archives.names()).isEmpty();
    }

    @Test
    void sendsAPartAgainWhenTheConnectionBreaks() throws IOException {
        Path file = randomFile(70 * MIB);
        AtomicReference<Relay> network = new AtomicReference<>();
        AtomicInteger cuts = new AtomicInteger();
        Watch cut = Watch.after(40 * MIB, () -> {
            cuts.incrementAndGet();
            network.get().cut();
        });
        try (Relay relay = new Relay(server.port(), cut, Watch.none());
                Archives behind = open(relay, network)) {
            behind.put("a", file);
        }
        archives.get("a", work.resolve("back"));
        assertThat(Files.mismatch(file, work.resolve("back"))).isEqualTo(-1);
        assertThat(unfinishedUploads()).isEmpty();
        assertThat(cuts).hasValue(1);
    }

    @Test
    void goesOnWhereItWasWhenTheConnectionBreaksOnTheWayBack() throws IOException {
        Path file = randomFile(20 * MIB);
        archives.put("a", file);
        AtomicReference<Relay> network = new AtomicReference<>();
        AtomicInteger cuts = new AtomicInteger();
        Watch cut = Watch.after(10 * MIB, () -> {
            cuts.incrementAndGet();
            network.get().cut();
        });
        try (Relay relay = new Relay(server.port(), Watch.none(), cut);
                Archives behind = open(relay, network)) {
            behind.get("a", work.resolve("back"));
        }
        assertThat(Files.mismatch(file, work.resolve("back"))).isEqualTo(-1);
        assertThat(cuts).hasValue(1);
    }

    @Test
    void removesThePartsOfAnUploadThatIsInterrupted() throws IOException {
        Path file = randomFile(70 * MIB);
        Thread sender = Thread.currentThread();
        AtomicReference<Relay> network = new AtomicReference<>();
        try (Relay relay = new Relay(server.port(), Watch.after(40 * MIB, sender::interrupt), Watch.none());
                Archives behind = open(relay, network)) {
            assertFails(ErrorCode.UNAVAILABLE, () -> behind.put("a", file));
            assertThat(Thread.interrupted()).as("the interrupt is passed on").isTrue();
        }
        assertThat(unfinishedUploads()).isEmpty();
        assertThat(archives.names()).isEmpty();
    }

    @Test
    void isUnavailableAndKeepsNothingWhenTheServerIsKilledInTheMiddleOfAnUpload() throws IOException {
        Path data = Files.createDirectory(work.resolve("data"));
        Path file = randomFile(150 * MIB);
        try (TestingS3 mortal = TestingS3.start(data)) {
            Files.createDirectory(data.resolve(bucket));
            AtomicReference<Relay> network = new AtomicReference<>();
            try (Relay relay = new Relay(mortal.port(), Watch.after(75 * MIB, mortal::kill), Watch.none());
                    Archives behind = open(relay, network)) {
                assertFails(ErrorCode.UNAVAILABLE, () -> behind.put("a", file))
                        .hasMessageContaining("check the endpoint");
            }
        }
        try (TestingS3 again = TestingS3.start(data)) {
            S3Config config = again.config(bucket, "berth/archives");
            try (Archives later = S3Archives.open(config)) {
                assertThat(later.names()).isEmpty();
                assertFails(ErrorCode.NOT_FOUND, () -> later.get("a", work.resolve("back")));
                assertThat(unfinishedUploads(config)).hasSize(1);
            }
            InstantSource nextWeek = InstantSource.offset(InstantSource.system(), Duration.ofDays(7));
            try (Archives nextTime = S3Archives.open(config, Patience.DEFAULT, nextWeek)) {
                assertThat(unfinishedUploads(config)).isEmpty();
                nextTime.put("a", file("second try"));
                assertThat(content(nextTime, "a")).isEqualTo("second try");
            }
        }
    }

    @Test
    void removesTheFileWhenItCannotBeFetchedWhole() throws IOException {
        Path data = Files.createDirectory(work.resolve("data"));
        try (TestingS3 mortal = TestingS3.start(data)) {
            Files.createDirectory(data.resolve(bucket));
            AtomicReference<Relay> network = new AtomicReference<>();
            try (Relay relay = new Relay(mortal.port(), Watch.none(), Watch.after(10 * MIB, mortal::kill));
                    Archives behind = open(relay, network)) {
                behind.put("a", randomFile(20 * MIB));
                assertFails(ErrorCode.UNAVAILABLE, () -> behind.get("a", work.resolve("back")));
            }
        }
        assertThat(work.resolve("back")).doesNotExist();
    }

    /** Archives of the test's bucket by way of a relay. */
    private Archives open(Relay relay, AtomicReference<Relay> network) {
        return open(relay, network, Patience.DEFAULT);
    }

    private Archives open(Relay relay, AtomicReference<Relay> network, Patience patience) {
        network.set(relay);
        return S3Archives.open(
                TestingS3.config(relay.port(), bucket, "berth/archives"), patience, InstantSource.system());
    }

    private S3Client client() {
        return S3Connection.open(server.config(bucket, ""), Patience.DEFAULT);
    }

    private String eTag(S3Client s3, String name) {
        return s3.headObject(it -> it.bucket(bucket).key("berth/archives/" + name))
                .eTag();
    }

    private List<MultipartUpload> unfinishedUploads() {
        return unfinishedUploads(server.config(bucket, ""));
    }

    private static List<MultipartUpload> unfinishedUploads(S3Config config) {
        try (S3Client s3 = S3Connection.open(config, Patience.DEFAULT)) {
            return s3.listMultipartUploads(it -> it.bucket(config.bucket())).uploads();
        }
    }

    private Path randomFile(long size) throws IOException {
        Path file = Files.createTempFile(work, "random", "");
        byte[] block = new byte[(int) MIB];
        Random random = new Random(size);
        try (OutputStream out = Files.newOutputStream(file)) {
            for (long left = size; left > 0; left -= block.length) {
                random.nextBytes(block);
                out.write(block, 0, (int) Math.min(left, block.length));
            }
        }
        return file;
    }

    private static String stackTrace(Throwable e) {
        StringWriter text = new StringWriter();
        e.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
