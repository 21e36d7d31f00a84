package dev.berth.egress.inside;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.berth.egress.trust.Authority;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real programs in a real sandbox, with a proxy that leads everything to one server. Needs root and crun. */
@Timeout(300)
class OutfitTest {
    private static final String HOST = "api.test";

    private static TestMachine machine;
    private static Authority authority;
    private static Outfit outfit;
    private static HttpsServer server;
    private static Sandbox sandbox;

    /** What programs asked the proxy for. */
    private static final Queue<String> ASKED = new ConcurrentLinkedQueue<>();

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        authority = Authority.in(directory, Clock.systemUTC(), new SecureRandom());
        outfit = new Outfit(authority.certificate());
        server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(authority.context(HOST)));
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> {
            byte[] hello = "hello from outside\n".getBytes(UTF_8);
            exchange.sendResponseHeaders(200, hello.length);
            exchange.getResponseBody().write(hello);
            exchange.close();
        });
        server.start();
        machine = new TestMachine(RuntimeKind.CRUN);
        machine.provider().outlet((_, connection) -> lead(connection));
        sandbox = make("outfit", "base");
        assertThat(outfit.install(sandbox)).isEmpty();
    }

    @AfterAll
    static void stop() throws IOException {
        machine.close();
        server.stop(0);
    }

    private static Sandbox make(String name, String template) {
        return machine.provider()
                .create(new SandboxSpec(
                        new SandboxId(name),
                        Origin.template(template),
                        Limits.DEFAULT,
                        Network.restricted(Rule.to(HOST)),
                        outfit.variables(),
                        Map.of()));
    }

    private static void lead(Connection connection) {
        try (Socket out =
                new Socket(InetAddress.getLoopbackAddress(), server.getAddress().getPort())) {
            ASKED.add(head(connection.input()));
            connection.output().write("HTTP/1.1 200 OK\r\n\r\n".getBytes(US_ASCII));
            connection.output().flush();
            Thread back = Thread.ofVirtual().start(() -> pour(out, connection));
            connection.input().transferTo(out.getOutputStream());
            out.shutdownOutput();
            back.join();
        } catch (IOException e) {
            ASKED.add("broken: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void pour(Socket from, Connection to) {
        try (OutputStream output = to.output()) {
            byte[] buffer = new byte[8192];
            for (int n = from.getInputStream().read(buffer);
                    n > 0;
                    n = from.getInputStream().read(buffer)) {
                output.write(buffer, 0, n);
                output.flush();
            }
        } catch (IOException e) {
            ASKED.add("broken: " + e.getMessage());
        }
    }

    /** What a request asks for. It is read to the end of its head. */
    private static String head(InputStream input) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = input.read();
            if (next < 0) {
                throw new IOException("ended in " + head);
            }
            head.append((char) next);
        }
        return head.substring(0, head.indexOf(" HTTP/"));
    }

    private static Result bash(Sandbox in, String line) {
        return in.run(Command.of("bash", "-c", line));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "curl -sS --max-time 20 https://api.test/",
                "sudo curl -sS --max-time 20 https://api.test/",
                "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.test/\", timeout=20).read().decode())'",
                // Without variables: found by its number in the directory of certificates.
                "env -i python3 -c 'import urllib.request as u; print(u.build_opener(u.ProxyHandler({\"https\":"
                        + " \"http://127.0.0.1:3128\"})).open(\"https://api.test/\", timeout=20).read().decode())'",
                // Without variables: found in the system's list.
                "env -i /usr/bin/curl -sS --max-time 20 --proxy http://127.0.0.1:3128 https://api.test/",
            })
    void programsFindTheProxyAndTrustWhatItOpens(String line) {
        ASKED.clear();
        Result ran = bash(sandbox, line);
        assertThat(ran.code()).as(ran.stderr()).isZero();
        assertThat(ran.stdout()).contains("hello from outside");
        assertThat(ASKED).contains("CONNECT api.test:443");
    }

    @Test
    void nodeTrustsWhatTheProxyOpens() {
        String program = """
                const http = require('http'), https = require('https');
                http.request({host: '127.0.0.1', port: 3128, method: 'CONNECT', path: 'api.test:443'})
                  .on('connect', (_, socket) => https.get({host: 'api.test', socket, agent: false, path: '/'},
                    answer => answer.pipe(process.stdout))).end();
                """;
        Result ran = sandbox.run(Command.of("node", "-e", program));
        assertThat(ran.stdout()).as(ran.stderr()).contains("hello from outside");
    }

    @Test
    void gitAndPipAskTheProxy() {
        ASKED.clear();
        // Neither a repository nor an index is there; that they speak with the server is what is asked.
        Result git = bash(sandbox, "git ls-remote https://api.test/x.git");
        assertThat(git.stderr()).doesNotContainIgnoringCase("certificate");
        Result pip = bash(
                sandbox,
                "pip download --no-input --retries 0 --timeout 20 --disable-pip-version-check"
                        + " --index-url https://api.test/simple nothing-there");
        assertThat(pip.stderr()).contains("nothing-there").doesNotContainIgnoringCase("certificate");
        assertThat(ASKED).hasSizeGreaterThanOrEqualTo(2).allMatch("CONNECT api.test:443"::equals);
    }

    @Test
    void aptAsksTheProxyThoughSudoDropsVariables() {
        Result ran = bash(sandbox, "sudo env -u http_proxy apt-config dump Acquire::http::Proxy");
        assertThat(ran.stdout()).contains("http://127.0.0.1:3128");
    }

    @Test
    void whatIsPutInPlaceBelongsToRootAndCannotBeWrittenByTheUser() {
        SandboxFiles files = sandbox.files();
        for (String path :
                List.of(Outfit.AUTHORITY, Outfit.MARK, Outfit.BUNDLE, Outfit.SUDO + "/berth-network", Outfit.OWN)) {
            FileInfo info = files.stat(path);
            assertThat(info.uid()).as(path).isZero();
            assertThat(info.mode() & 022).as(path).isZero();
        }
        assertThat(files.stat(Outfit.SUDO + "/berth-network").mode() & 0777).isEqualTo(0440);
        assertThat(files.list(Outfit.OWN, 1)).extracting(FileInfo::name).noneMatch(name -> name.startsWith("."));
        assertThat(bash(sandbox, "sudo -n true").code()).isZero();
    }

    @Test
    void whatIsThereIsLeftAsItsUsersChangedIt() {
        Sandbox changed = make("changed", "base");
        assertThat(outfit.install(changed)).isEmpty();
        write(changed, Outfit.APT + "/80berth-proxy", "// mine\n");
        assertThat(bash(changed, "sudo sh -c 'echo mine >> " + Outfit.BUNDLE + "'")
                        .code())
                .isZero();
        assertThat(outfit.install(changed)).isEmpty();
        assertThat(read(changed, Outfit.APT + "/80berth-proxy")).isEqualTo("// mine\n");
        assertThat(read(changed, Outfit.BUNDLE))
                .endsWith("mine\n")
                .containsOnlyOnce(Roots.pem(authority.certificate()));
        changed.destroy();
    }

    @Test
    void anotherServersAuthorityTakesThePlaceOfTheOneBefore(@TempDir Path elsewhere) throws IOException {
        Sandbox moved = make("moved", "base");
        assertThat(outfit.install(moved)).isEmpty();
        String system = read(moved, Outfit.BUNDLE).replace(Roots.pem(authority.certificate()), "");
        Authority other = Authority.in(elsewhere, Clock.systemUTC(), new SecureRandom());
        assertThat(new Outfit(other.certificate()).install(moved)).isEmpty();
        assertThat(read(moved, Outfit.BUNDLE)).isEqualTo(system + Roots.pem(other.certificate()));
        assertThat(read(moved, Outfit.AUTHORITY)).isEqualTo(Roots.pem(other.certificate()));
        moved.destroy();
    }

    @Test
    void aSystemWithoutCertificatesIsGivenThePublicOnes() {
        Sandbox bare = make("bare", "base");
        assertThat(bash(bare, "sudo rm -r /etc/ssl /usr/local/share/ca-certificates /etc/apt")
                        .code())
                .isZero();
        assertThat(outfit.install(bare)).isEmpty();
        assertThat(read(bare, Outfit.BUNDLE).split("BEGIN CERTIFICATE", -1).length)
                .isGreaterThan(50);
        assertThat(bash(bare, "curl -sS --max-time 20 https://api.test/").stdout())
                .contains("hello");
        assertThat(bare.files().exists("/etc/apt")).isFalse();
        bare.destroy();
    }

    @Test
    void whatCannotBeWrittenIsToldAndTriedAgain() {
        Sandbox odd = make("odd", "base");
        assertThat(bash(odd, "sudo mkdir -p /etc/apt/apt.conf.d/80berth-proxy/x")
                        .code())
                .isZero();
        assertThat(outfit.install(odd))
                .singleElement()
                .asString()
                .startsWith("could not write /etc/apt/apt.conf.d/80berth-proxy: ");
        assertThat(bash(odd, "curl -sS --max-time 20 https://api.test/").stdout())
                .contains("hello");
        assertThat(bash(odd, "sudo rm -r /etc/apt/apt.conf.d/80berth-proxy").code())
                .isZero();
        assertThat(outfit.install(odd)).isEmpty();
        odd.destroy();
    }

    @Test
    void theHostsOwnProgramsFindTheirWayToo() {
        Sandbox host = make("host", "host");
        assertThat(outfit.install(host)).isEmpty();
        assertThat(bash(host, "curl -sS --max-time 20 https://api.test/").stdout())
                .contains("hello");
        if (host.files().exists("/usr/bin/java")) {
            assertThat(outfit.variables(host)).containsKey("JAVA_TOOL_OPTIONS");
            assertThat(host.files().stat(Outfit.JAVA_TRUST).size()).isPositive();
        }
        host.destroy();
    }

    private static String read(Sandbox from, String path) {
        try (InputStream content = from.files().read(path)) {
            return new String(content.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void write(Sandbox to, String path, String text) {
        to.files().write(path, new ByteArrayInputStream(text.getBytes(UTF_8)));
    }
}
