package dev.berth.session.postgres;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.TestingPostgres;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.random.RandomGenerator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs real PostgreSQL servers. Needs root, as it is about giving up root. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class EmbeddedPostgresTest {
    private final Path data = TestingPostgres.newDirectory();
    private final Path directory = data.resolve("postgres");
    private final PostgresConfig config = TestingPostgres.config(data);

    @AfterEach
    void leavesNothingBehind() throws Exception {
        String name = new Cluster(directory.toRealPath().resolve("data"), "").name();
        eventually(() -> ProcessHandle.allProcesses()
                .noneMatch(process -> title(process.pid()).contains(name)));
        TestingPostgres.remove(data);
    }

    @Test
    void runsAsAUserOfItsOwnInASessionOfItsOwn() throws Exception {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            Path process = Path.of("/proc/" + postgres.handle().pid());
            List<String> status = Files.readAllLines(process.resolve("status"));
            assertThat(status)
                    .contains("Uid:\t1795162111\t1795162111\t1795162111\t1795162111")
                    .contains("Gid:\t1795162111\t1795162111\t1795162111\t1795162111")
                    .contains("Groups:\t ")
                    .contains("CapPrm:\t0000000000000000");
            String session = Files.readString(process.resolve("stat")).split(" ")[5];
            assertThat(session).isEqualTo(Long.toString(postgres.handle().pid()));
            assertThat(Files.readString(process.resolve("environ")).split("\0"))
                    .allMatch(variable -> variable.matches("(LC_ALL|TZ|PATH|PG[A-Z]*)=.*"));
        }
    }

    @Test
    void isDurableAndAsksForAPasswordUnlessToldOtherwise() throws Exception {
        try (EmbeddedPostgres postgres =
                EmbeddedPostgres.start(PostgresConfig.of(data).withBinaries(config.binaries()))) {
            assertThat(ask(postgres, "SHOW fsync")).isEqualTo("on");
            assertThat(ask(postgres, "SHOW synchronous_commit")).isEqualTo("on");
            assertThat(ask(postgres, "SHOW full_page_writes")).isEqualTo("on");
            assertThat(ask(postgres, "SHOW max_connections")).isEqualTo("100");
            assertThat(ask(postgres, "SHOW shared_buffers")).isEqualTo("64MB");
            assertThat(ask(postgres, "SHOW listen_addresses")).isEqualTo("127.0.0.1");
            assertThat(ask(postgres, "SHOW unix_socket_directories")).isEmpty();
            assertThat(ask(postgres, "SHOW server_encoding")).isEqualTo("UTF8");
            assertThat(ask(postgres, "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules"))
                    .isEqualTo("scram-sha-256");
            assertThat(postgres.jdbcUrl()).doesNotContain(postgres.password());
        }
    }

    @Test
    void keepsItsPasswordToItself() throws Exception {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThat(permissions(directory)).isEqualTo("rwx--x---");
            assertThat(permissions(directory.resolve("password"))).isEqualTo("rw-------");
            assertThat(Files.getAttribute(directory.resolve("password"), "unix:uid"))
                    .isEqualTo(0);
            assertThat(permissions(directory.resolve("postgres.log"))).isEqualTo("rw-------");
            assertThat(names(directory)).containsExactlyInAnyOrder("data", "lock", "password", "postgres.log");
            assertThat(postgres.password()).matches("[0-9a-f]{64}");
            assertThat(title(postgres.handle().pid())).doesNotContain(postgres.password());
        }
    }

    @Test
    void refusesAWrongPasswordAndNone() {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThatThrownBy(() -> DriverManager.getConnection(postgres.jdbcUrl(), postgres.user(), "wrong"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("28P01"));
            assertThatThrownBy(() -> DriverManager.getConnection(postgres.jdbcUrl() + "&user=" + postgres.user()))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("password");
        }
    }

    @Test
    void keepsWhatItHasFromOneStartToTheNext() throws Exception {
        EmbeddedPostgres first = EmbeddedPostgres.start(config);
        tell(first, "CREATE TABLE kept AS SELECT 'word' AS word");
        first.close();
        first.close();
        assertThat(first.handle().isAlive()).isFalse();
        assertThat(directory.resolve("data/postmaster.pid")).doesNotExist();
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThat(ask(postgres, "SELECT word FROM kept")).isEqualTo("word");
            assertThat(postgres.password()).isEqualTo(first.password());
        }
    }

    @Test
    void refusesASecondServerAndTheFirstGoesOn() throws Exception {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertInUse();
            assertInUse();
            assertThat(ask(postgres, "SELECT 1")).isEqualTo("1");
        }
        EmbeddedPostgres.start(config).close();
    }

    @Test
    void stopsWithAServerThatIsKilledAndKeepsWhatWasCommitted() throws Exception {
        Process server = startServer();
        try {
            ProcessHandle postgres = ready(server);
            assertInUse();
            server.destroyForcibly().waitFor();
            eventually(() -> !postgres.isAlive());
            assertThat(Files.readString(directory.resolve("postgres.log"))).contains("received fast shutdown request");
        } finally {
            server.destroyForcibly().waitFor();
        }
        assertKept(1);
    }

    @Test
    void waitsForThePostgresOfAKilledServerAndStartsAtOnce() throws Exception {
        for (int round = 1; round <= 3; round++) {
            Process server = startServer();
            try {
                ready(server);
            } finally {
                server.destroyForcibly().waitFor();
            }
            assertKept(round);
        }
    }

    @Test
    void recoversWhenServerAndPostgresWereKilledTogether() throws Exception {
        Process server = startServer();
        try {
            ProcessHandle postgres = ready(server);
            postgres.destroyForcibly();
        } finally {
            server.destroyForcibly().waitFor();
        }
        assertKept(1);
    }

    @Test
    void comesBackOnTheSamePortWhenItWasKilled() throws Exception {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config.withSetting("synchronous_commit", "on"))) {
            tell(postgres, "CREATE TABLE kept AS SELECT 'word' AS word");
            ProcessHandle killed = postgres.handle();
            for (int round = 0; round < 2; round++) {
                ProcessHandle before = postgres.handle();
                before.destroyForcibly();
                eventually(() -> !postgres.handle().equals(before) && answers(postgres));
                assertThat(ask(postgres, "SELECT word FROM kept")).isEqualTo("word");
            }
            assertThat(killed.isAlive()).isFalse();
        }
    }

    @Test
    void closesWhileItIsComingBack() throws Exception {
        EmbeddedPostgres postgres = EmbeddedPostgres.start(config);
        postgres.handle().destroyForcibly();
        postgres.close();
        EmbeddedPostgres.start(config).close();
    }

    @Test
    void redoesAHalfMadeCluster() throws Exception {
        Path half = Files.createDirectories(directory.resolve("data.partial/base"));
        Files.writeString(half.resolve("file"), "half");
        Files.writeString(directory.resolve("data.partial-password"), "half");
        Files.writeString(directory.resolve("password"), "of the cluster that never was");
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThat(answers(postgres)).isTrue();
            assertThat(names(directory)).noneMatch(name -> name.contains("partial"));
        }
    }

    @Test
    void startsAfterAServerWasKilledWhileMakingTheCluster() throws Exception {
        Process server = startServer();
        try {
            eventually(() -> Files.isDirectory(directory)
                    && names(directory).stream().anyMatch(name -> name.matches("data\\.partial\\d+")));
        } finally {
            server.destroyForcibly().waitFor();
        }
        assertThat(directory.resolve("data")).doesNotExist();
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThat(answers(postgres)).isTrue();
            assertThat(names(directory)).noneMatch(name -> name.contains("partial"));
        }
    }

    @Test
    void isNotHinderedByThePidOfAnotherProcess() throws Exception {
        EmbeddedPostgres.start(config).close();
        Path pidFile = directory.resolve("data/postmaster.pid");
        for (long pid : List.of(ProcessHandle.current().pid(), 1L, 4_000_000L)) {
            Files.writeString(pidFile, pid + "\n" + directory.resolve("data") + "\n1\n1\n\n127.0.0.1\n1 1\nready\n");
            EmbeddedPostgres.start(config).close();
        }
    }

    @Test
    void stopsAPostgresThatNobodyLooksAfter() throws Exception {
        int port;
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            port = postgres.port();
        }
        Account account = Account.current();
        Programs programs = Programs.unpack(ProgramArchive.find(System.getProperty("os.arch")), config.binaries());
        Cluster cluster = new Cluster(directory.toRealPath().resolve("data"), "");
        Process stray = account.process(
                        List.of(
                                programs.postgres().toString(),
                                "-D",
                                cluster.data().toString(),
                                "-c",
                                "cluster_name=" + cluster.name(),
                                "-c",
                                "unix_socket_directories=",
                                "-c",
                                "port=" + port),
                        null,
                        ServerLog.open(directory.resolve("postgres.log")))
                .start();
        try {
            eventually(() -> Files.exists(cluster.pidFile())
                    && Files.readString(cluster.pidFile()).contains("ready"));
            try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
                assertThat(answers(postgres)).isTrue();
                assertThat(stray.isAlive()).isFalse();
            }
        } finally {
            stray.destroyForcibly();
        }
    }

    @Test
    void refusesAClusterOfAnotherMajorVersion() throws Exception {
        EmbeddedPostgres.start(config).close();
        Files.writeString(directory.resolve("data/PG_VERSION"), "17\n");
        assertFails(
                () -> EmbeddedPostgres.start(config),
                ErrorCode.CONFLICT,
                "PostgreSQL 17",
                "this is 18",
                "DATABASE_URL");
    }

    @Test
    void takesAnotherPortWhenSomebodyWasQuicker() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            IntSupplier free = new FreePorts(RandomGenerator.getDefault());
            Iterator<Integer> ports =
                    List.of(taken.getLocalPort(), free.getAsInt()).iterator();
            try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config, Account.current(), ports::next)) {
                assertThat(answers(postgres)).isTrue();
            }
        }
    }

    @Test
    void refusesAPortThatSomebodyElseHas() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            String port = Integer.toString(taken.getLocalPort());
            assertFails(
                    () -> EmbeddedPostgres.start(config.withSetting("port", port)),
                    ErrorCode.UNAVAILABLE,
                    "somebody else has port " + port);
        }
    }

    @Test
    void doesNotTellItsPasswordToSomebodyElseOnItsPort() throws Exception {
        String url;
        String password;
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            url = postgres.jdbcUrl();
            password = postgres.password();
        }
        try (ServerSocket thief = new ServerSocket(0)) {
            CompletableFuture<String> heard = CompletableFuture.supplyAsync(() -> askForThePassword(thief));
            String port = Integer.toString(thief.getLocalPort());
            assertThatThrownBy(() -> DriverManager.getConnection(
                            url.replaceFirst(":\\d+/", ":" + port + "/") + "&sslmode=disable", "berth", password))
                    .isInstanceOf(SQLException.class);
            assertThat(heard.get(60, TimeUnit.SECONDS)).contains("berth").doesNotContain(password);
        }
    }

    /** What a client says that is asked for the password in clear (AuthenticationCleartextPassword of the protocol). */
    private static String askForThePassword(ServerSocket thief) {
        try (Socket socket = thief.accept()) {
            byte[] startup = new byte[4096];
            int length = socket.getInputStream().read(startup);
            socket.getOutputStream().write(new byte[] {'R', 0, 0, 0, 8, 0, 0, 0, 3});
            byte[] answer = new byte[4096];
            int more = Math.max(0, socket.getInputStream().read(answer)); // none when the client hangs up, as it should
            return new String(startup, 0, length, UTF_8) + new String(answer, 0, more, UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void saysThatItsPasswordIsMissingOrWrong() throws Exception {
        EmbeddedPostgres.start(config).close();
        Files.writeString(directory.resolve("password"), "wrong");
        assertFails(
                () -> EmbeddedPostgres.start(config),
                ErrorCode.UNAVAILABLE,
                directory.resolve("password") + " as it was");
        Files.delete(directory.resolve("password"));
        assertFails(() -> EmbeddedPostgres.start(config), ErrorCode.CONFLICT, "its password is missing");
    }

    @Test
    void showsWhatPostgresSaidWhenItDoesNotStart() {
        assertFails(
                () -> EmbeddedPostgres.start(config.withSetting("shared_buffers", "much")),
                ErrorCode.UNAVAILABLE,
                "ended with status 1",
                "invalid value for parameter \"shared_buffers\"");
    }

    @Test
    void saysWhichDirectoryIsClosedToIt() throws Exception {
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx------"));
        assertFails(
                () -> EmbeddedPostgres.start(config),
                ErrorCode.UNAVAILABLE,
                data + " is closed to its user",
                "chmod o+x " + data,
                "Permission denied");
    }

    @Test
    void saysWhichPackageIsMissing() {
        Account account = new Account(Account.PRIVATE, Account.PRIVATE, true, "no-such-setpriv");
        assertFails(
                () -> EmbeddedPostgres.start(config, account, () -> 1),
                ErrorCode.UNAVAILABLE,
                "install the package util-linux");
    }

    @Test
    void saysThatTheDirectoryCannotBeWritten() throws Exception {
        Files.createDirectories(directory);
        PostgresConfig unwritable = PostgresConfig.of(Path.of("/proc/self"));
        assertFails(() -> EmbeddedPostgres.start(unwritable), ErrorCode.UNAVAILABLE, "/proc/self/postgres");
    }

    @Test
    void saysThatTheDiskIsFull() throws Exception {
        Files.createDirectories(directory);
        run("mount", "-t", "tmpfs", "-o", "size=20m,mode=711", "tmpfs", data.toString());
        try {
            assertFails(() -> EmbeddedPostgres.start(config), ErrorCode.LIMIT, "the disk is full", "free some space");
            assertThat(names(directory)).noneMatch(name -> name.contains("partial"));
        } finally {
            run("umount", data.toString());
        }
    }

    private void assertInUse() {
        assertFails(() -> EmbeddedPostgres.start(config), ErrorCode.CONFLICT, "another Berth server uses " + directory);
    }

    private static void assertFails(ThrowingCallable call, ErrorCode code, String... words) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(code))
                .message()
                .contains(words);
    }

    private void assertKept(int rows) throws SQLException {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config)) {
            assertThat(ask(postgres, "SELECT count(*) FROM kept WHERE word = 'committed'"))
                    .isEqualTo(Integer.toString(rows));
        }
    }

    private Process startServer() throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        PostgresServer.class.getName(),
                        data.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static ProcessHandle ready(Process server) throws IOException {
        String line = new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8)).readLine();
        assertThat(line).startsWith("ready ");
        return ProcessHandle.of(Long.parseLong(line.substring("ready ".length())))
                .orElseThrow();
    }

    private static Connection connect(EmbeddedPostgres postgres) throws SQLException {
        return DriverManager.getConnection(postgres.jdbcUrl(), postgres.user(), postgres.password());
    }

    private static void tell(EmbeddedPostgres postgres, String sql) throws SQLException {
        try (var connection = connect(postgres);
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String ask(EmbeddedPostgres postgres, String sql) throws SQLException {
        try (var connection = connect(postgres);
                var statement = connection.createStatement();
                var rows = statement.executeQuery(sql)) {
            rows.next();
            return String.valueOf(rows.getString(1));
        }
    }

    private static boolean answers(EmbeddedPostgres postgres) {
        try {
            return ask(postgres, "SELECT 1").equals("1");
        } catch (SQLException e) {
            return false;
        }
    }

    private static void eventually(Callable<Boolean> condition) throws Exception {
        Instant deadline = Instant.now().plus(Duration.ofSeconds(60));
        while (!condition.call()) {
            assertThat(Instant.now()).isBefore(deadline);
            Thread.sleep(5);
        }
    }

    private static void run(String... argv) throws Exception {
        assertThat(new ProcessBuilder(argv).inheritIO().start().waitFor()).isZero();
    }

    private static String title(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/cmdline"));
        } catch (IOException e) {
            return "";
        }
    }

    private static String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    private static List<String> names(Path path) throws IOException {
        try (var entries = Files.list(path)) {
            return entries.map(entry -> entry.getFileName().toString()).toList();
        }
    }
}
