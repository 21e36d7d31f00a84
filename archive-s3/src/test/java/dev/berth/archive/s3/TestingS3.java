package dev.berth.archive.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;

/** A real S3 server in a process of its own, from {@code testing-s3}, on a free port. It ends with this process at the latest. */
public final class TestingS3 implements AutoCloseable {
    public static final S3Config.Credentials CREDENTIALS =
            new S3Config.Credentials("testing-access", "testing-secret-" + UUID.randomUUID(), Optional.empty());

    private final Process process;
    private final Path log;
    private final int port;

    private TestingS3(Process process, Path log, int port) {
        this.process = process;
        this.log = log;
        this.port = port;
    }

    /** Serves the directories in one as buckets. What it logs goes into a file beside that. */
    public static TestingS3 start(Path data) throws IOException {
        Path testing = Path.of(System.getProperty("berth.test.s3"));
        Path log = data.resolveSibling(data.getFileName() + ".log");
        Path logging = Files.writeString(data.resolveSibling(data.getFileName() + ".logback.xml"), """
                <configuration>
                  <appender name="e" class="ch.qos.logback.core.ConsoleAppender">
                    <target>System.err</target><encoder><pattern>%level %logger{0} %msg%n%ex</pattern></encoder>
                  </appender>
                  <root level="WARN"><appender-ref ref="e"/></root>
                </configuration>
                """);
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        "-Xmx512m",
                        "-Dlogback.configurationFile=" + logging,
                        "-cp",
                        testing.resolve("target/lib") + "/*",
                        testing.resolve("S3Server.java").toString(),
                        data.toString(),
                        CREDENTIALS.accessKeyId(),
                        CREDENTIALS.secretAccessKey())
                .redirectError(log.toFile())
                .start();
        try {
            String line = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8)).readLine();
            if (line == null || !line.startsWith("port ")) {
                throw new AssertionError("the S3 server did not start: " + line + "\n" + Files.readString(log));
            }
            return new TestingS3(process, log, Integer.parseInt(line.substring("port ".length())));
        } catch (IOException | RuntimeException | Error e) {
            process.destroyForcibly();
            throw e;
        }
    }

    public int port() {
        return port;
    }

    S3Config config(String bucket, String prefix) {
        return config(port, bucket, prefix);
    }

    /** The same by way of another port of this machine. */
    static S3Config config(int port, String bucket, String prefix) {
        return new S3Config(
                bucket,
                prefix,
                Optional.of(URI.create("http://127.0.0.1:" + port)),
                Optional.empty(),
                true,
                Optional.of(CREDENTIALS));
    }

    String log() throws IOException {
        return Files.readString(log);
    }

    void kill() {
        process.destroyForcibly();
        boolean interrupted = Thread.interrupted();
        process.onExit().join();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        kill();
    }
}
