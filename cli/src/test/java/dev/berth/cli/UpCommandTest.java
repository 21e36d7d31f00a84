package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.archive.s3.TestingS3;
import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Values;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The server, as a person starts it. Needs root and crun. */
class UpCommandTest {
    private static final String SESSIONS = "/v1/sandbox/sessions";

    /** Shared: making a database takes seconds. Short and on the disk, as a socket in it needs. */
    private static Path data;

    @BeforeAll
    static void aDataDirectory() throws IOException {
        data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-up-");
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
    }

    @AfterAll
    static void nothingIsLeft() throws IOException {
        // What a test that failed left is removed all the same, before the walk: there are mounts in it.
        try (LocalProvider provider = LocalProvider.open(settings().local(Map.of()))) {
            provider.list().forEach(Sandbox::destroy);
        }
        assertThat(data.resolve("boxes")).isEmptyDirectory();
        try (Stream<Path> files = Files.walk(data)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @AfterEach
    void noPostgresIsLeft() throws Exception {
        awaitNoProcess("postgres");
    }

    @Test
    void printsHowToReachItAndKeepsItsKeys() throws Exception {
        String key;
        try (RunningServer server = RunningServer.start(data, Map.of()).awaitReady()) {
            key = server.printedKey();
            assertThat(server.get(key, SESSIONS).statusCode()).isEqualTo(200);
            assertThat(server.get("berth_a-key-that-nobody-made", SESSIONS).statusCode())
                    .isEqualTo(401);
            assertThat(server.get(key, "/v1/admin/tenants").statusCode()).isIn(403, 404);
            assertThat(server.get(key("admin"), "/v1/admin/tenants").statusCode())
                    .isEqualTo(200);
            assertThat(server.get(key, "/readyz").statusCode()).isEqualTo(200);
            assertThat(key("api")).isEqualTo(key);
            assertThat(key("e2b")).matches("e2b_[0-9a-f]{40}");
            assertThat(server.get(key("e2b"), SESSIONS).statusCode()).isEqualTo(200);
            for (String name : List.of("api", "admin", "preview", "e2b", "e2b-tokens")) {
                assertThat(permissions(data.resolve("keys/" + name))).isEqualTo("rw-------");
            }
            assertThat(permissions(data.resolve("keys"))).isEqualTo("rwx------");
            assertThat(server.terminate()).isZero();
            assertThat(server.out())
                    .startsWith("Berth is ready at " + server.url())
                    .contains("export E2B_API_URL=" + server.url() + " E2B_SANDBOX_URL=" + server.url()
                            + " E2B_VOLUME_API_URL=" + server.url() + " E2B_API_KEY=$(cat " + data.resolve("keys/e2b")
                            + ")")
                    .containsPattern("https://<port>-<id>\\.sbx\\.localhost:[0-9]+")
                    .contains(data.resolve("e2b/ca.pem").toString())
                    .doesNotContain(key("e2b"));
            assertThat(permissions(data.resolve("e2b/ca.key"))).isEqualTo("rw-------");
            assertThat(permissions(data.resolve("e2b/ca.pem"))).isEqualTo("rw-r--r--");
        }
        String e2b = key("e2b");
        String admin = key("admin");
        try (RunningServer again = RunningServer.start(data, Map.of()).awaitReady()) {
            assertThat(again.printedKey()).isEqualTo(key);
            assertThat(key("admin")).isEqualTo(admin);
            assertThat(key("e2b")).isEqualTo(e2b);
            assertThat(again.get(e2b, SESSIONS).statusCode()).isEqualTo(200);
            assertThat(again.get(key, SESSIONS).statusCode()).isEqualTo(200);
            assertThat(again.terminate()).isZero();
            assertThat(again.err()).isEmpty();
        }
    }

    @Test
    void aKeyThatIsGivenReplacesTheOneThatIsKept() throws Exception {
        String old;
        try (RunningServer server = RunningServer.start(data, Map.of()).awaitReady()) {
            old = server.printedKey();
        }
        String chosen = "chosen-by-the-operator-2026";
        Map<String, String> env = Map.of("BERTH_API_KEY", chosen, "BERTH_ADMIN_KEY", "berth_the-operators-own-key");
        try (RunningServer server = RunningServer.start(data, env).awaitReady()) {
            assertThat(server.get(chosen, SESSIONS).statusCode()).isEqualTo(200);
            assertThat(server.get(old, SESSIONS).statusCode()).isEqualTo(401);
            assertThat(server.get("berth_the-operators-own-key", "/v1/admin/tenants")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(server.printedKey()).isEqualTo("$(cat " + data.resolve("keys/api") + ")");
            assertThat(key("api")).isEqualTo(chosen);
        }
        try (RunningServer server = RunningServer.start(data, Map.of()).awaitReady()) {
            assertThat(server.get(chosen, SESSIONS).statusCode()).isEqualTo(200);
        }
        try (RunningServer server =
                RunningServer.start(data, Map.of("BERTH_API_KEY", old)).awaitReady()) {
            assertThat(server.get(old, SESSIONS).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void isTheOnlyServerOfItsDirectoryAndOfItsPort() throws Exception {
        try (RunningServer first = RunningServer.start(data, Map.of()).awaitReady()) {
            RunningServer second = RunningServer.start(data, Map.of());
            assertThat(second.awaitExit()).isEqualTo(73);
            assertThat(second.err())
                    .isEqualTo("berth: another Berth server uses " + data
                            + "; stop it, or give this one another directory by --data or BERTH_DATA\n");
            assertThat(first.get(first.printedKey(), SESSIONS).statusCode()).isEqualTo(200);
        }
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RunningServer server =
                    RunningServer.start(data, Map.of(), "--port", Integer.toString(taken.getLocalPort()));
            assertThat(server.awaitExit()).isEqualTo(69);
            assertThat(server.err())
                    .startsWith("berth: could not listen on 127.0.0.1:" + taken.getLocalPort() + ": ")
                    .hasLineCount(1)
                    .contains("--port");
        }
    }

    @Test
    void keepsItsSessionsWhenItIsKilled() throws Exception {
        try (RunningServer server = RunningServer.start(data, Map.of()).awaitReady()) {
            beside(sessions -> {
                try (Session session = sessions.resolve(SessionKey.of("default", "kept"))) {
                    session.sandbox().run(Command.shell("echo here > ~/kept-by-berth"));
                }
            });
            assertThat(server.get(server.printedKey(), SESSIONS).body()).contains("\"session_id\":\"kept\"");
            server.kill();
        }
        awaitNoProcess("postgres");
        try (RunningServer server = RunningServer.start(data, Map.of()).awaitReady()) {
            assertThat(server.get(server.printedKey(), SESSIONS).body()).contains("\"session_id\":\"kept\"");
            assertThat(server.get(server.printedKey(), SESSIONS).body()).doesNotContain("last_error");
            assertThat(fileInTheSandbox()).hasContent("here");
            assertThat(server.delete(server.printedKey(), SESSIONS + "/default/kept")
                            .statusCode())
                    .isEqualTo(204);
            assertThat(server.get(server.printedKey(), SESSIONS).body()).doesNotContain("\"kept\"");
        }
    }

    @Test
    void packsSessionsAwayIntoS3AndBringsThemBack(@TempDir Path home) throws Exception {
        Path buckets = Files.createDirectory(home.resolve("s3"));
        Path bucket = Files.createDirectory(buckets.resolve("bucket"));
        try (TestingS3 s3 = TestingS3.start(buckets)) {
            Map<String, String> env = Map.of(
                    "BERTH_ARCHIVE",
                    "s3://bucket/of/berth?endpoint=http://127.0.0.1:" + s3.port() + "&region=eu-central-1",
                    "AWS_ACCESS_KEY_ID",
                    TestingS3.CREDENTIALS.accessKeyId(),
                    "AWS_SECRET_ACCESS_KEY",
                    TestingS3.CREDENTIALS.secretAccessKey());
            try (RunningServer server = RunningServer.start(data, env).awaitReady()) {
                String key = server.printedKey();
                assertThat(server.post(
                                        key,
                                        "/v1/sandbox/write",
                                        "{\"session_id\":\"packed\",\"path\":\"a.txt\",\"content\":\"from afar\"}")
                                .statusCode())
                        .isEqualTo(200);
                assertThat(server.post(key, "/v1/sessions/packed/archive", "").body())
                        .contains("\"state\":\"archived\"");
                assertThat(filesIn(bucket.resolve("of/berth"))).isPositive();
                assertThat(server.post(key, "/v1/sandbox/read", "{\"session_id\":\"packed\",\"path\":\"a.txt\"}")
                                .body())
                        .contains("from afar");
                assertThat(server.delete(key, SESSIONS + "/default/packed").statusCode())
                        .isEqualTo(204);
            }
        }
    }

    private static long filesIn(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile).count();
        }
    }

    @Test
    void servesHttpsWithAKeyStore(@TempDir Path home) throws Exception {
        Path store = home.resolve("keys.p12");
        Path password = Files.writeString(home.resolve("password"), "only-for-this-test\n");
        Path certificate = home.resolve("certificate.pem");
        String keytool =
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        List<String> opened =
                List.of("-alias", "berth", "-keystore", store.toString(), "-storepass:file", password.toString());
        run(Stream.concat(
                Stream.of(keytool, "-genkeypair", "-keyalg", "EC", "-dname", "CN=berth", "-ext", "san=ip:127.0.0.1"),
                opened.stream()));
        run(Stream.concat(Stream.of(keytool, "-exportcert", "-rfc", "-file", certificate.toString()), opened.stream()));
        Map<String, String> env =
                Map.of("BERTH_TLS_KEYSTORE", store.toString(), "BERTH_TLS_PASSWORD_FILE", password.toString());
        try (RunningServer server = RunningServer.start(data, env).awaitReady()) {
            assertThat(server.url()).startsWith("https://127.0.0.1:");
            String said = run(Stream.of(
                    "curl",
                    "--silent",
                    "--show-error",
                    "--cacert",
                    certificate.toString(),
                    "--write-out",
                    " over HTTP/%{http_version}",
                    "--header",
                    "Authorization: Bearer " + server.printedKey(),
                    server.url() + SESSIONS));
            assertThat(said).contains("\"sessions\":").endsWith(" over HTTP/2");
        }
    }

    private static String run(Stream<String> words) throws Exception {
        Process process =
                new ProcessBuilder(words.toList()).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    @Test
    void startsNothingWithSettingsThatAreWrong() throws Exception {
        Path nowhere = data.resolve("nowhere");
        RunningServer server = RunningServer.start(
                nowhere, Map.of("BERTH_PROT", "1", "SANDBOX_BACKEND", "docker", "BERTH_API_KEY", "my secret"));
        assertThat(server.awaitExit()).isEqualTo(2);
        assertThat(server.err())
                .contains("3 settings are wrong")
                .contains("did you mean BERTH_PORT?")
                .contains("SANDBOX_BACKEND: Berth has no provider for 'docker' yet")
                .doesNotContain("my secret");
        assertThat(nowhere).doesNotExist();
    }

    @Test
    void saysThatADatabaseCannotBeReached() throws Exception {
        Map<String, String> env = Map.of("DATABASE_URL", "postgres://ada:hidden@127.0.0.1:1/berth");
        RunningServer server = RunningServer.start(data, env);
        assertThat(server.awaitExit()).isEqualTo(69);
        assertThat(server.err().lines().filter(line -> line.startsWith("berth: could not")))
                .hasSize(1)
                .allSatisfy(line -> assertThat(line).contains("127.0.0.1:1/berth"));
        assertThat(server.err()).doesNotContain("hidden");
    }

    /** What a second server on the same database would do: there is no way yet to make a session over HTTP. */
    private static void beside(Consumer<Sessions> work) throws IOException {
        ServerSettings settings = settings();
        String port =
                Files.readAllLines(data.resolve("postgres/data/postmaster.pid")).get(3);
        String password = Files.readString(data.resolve("postgres/password")).strip();
        DatabaseConfig config = DatabaseConfig.of("jdbc:postgresql://127.0.0.1:" + port + "/berth", "berth", password);
        try (Database database = Database.open(config);
                LocalProvider provider = LocalProvider.open(settings.local(Map.of()));
                DirectoryArchives archives = DirectoryArchives.open(Path.of(settings.archive()));
                Sessions sessions = Sessions.open(
                        settings.sessions("host", false),
                        provider,
                        database,
                        archives,
                        new SimpleMeterRegistry(),
                        "secret".getBytes(StandardCharsets.UTF_8),
                        _ -> Optional.empty())) {
            work.accept(sessions);
        }
    }

    private static ServerSettings settings() {
        return new ServerSettings(Values.of(Map.of("data", data.toString(), "store", "plain", "template", "host")));
    }

    /** As it is on this machine: the root of a sandbox is mounted here. */
    private static Path fileInTheSandbox() throws IOException {
        try (Stream<Path> homes = Files.find(data.resolve("boxes"), 5, (path, _) -> path.endsWith("kept-by-berth"))) {
            return homes.findFirst().orElseThrow();
        }
    }

    /** It ends some moments after a server that was killed. */
    private static void awaitNoProcess(String name) throws InterruptedException {
        for (int i = 0; i < 1200 && processes(name) > 0; i++) {
            Thread.sleep(50);
        }
        assertThat(processes(name)).isZero();
    }

    private static long processes(String name) {
        return ProcessHandle.allProcesses()
                .filter(process -> process.info()
                        .commandLine()
                        .filter(line -> line.contains(data.toString()) && line.contains(name) && !line.contains("java"))
                        .isPresent())
                .count();
    }

    private static String key(String name) throws IOException {
        return Files.readString(data.resolve("keys/" + name)).strip();
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }
}
