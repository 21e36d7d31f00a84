package dev.berth.gateway.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.berth.egress.internet.Internet;
import dev.berth.sandbox.local.linux.Directories;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The programs that people and agents use, on their way out of real sandboxes, set up by nobody: what a credential is
 * wanted for works by a secret that is not inside. Needs root, crun, iproute2 and git.
 */
@Timeout(300)
class EgressClientsTest {
    private static final long LARGE = 256L << 20;
    /** Beside what is there anyhow; a body that is kept is twice that when half of it is there. */
    private static final long CONSTANT = 64 << 20;

    private static final String TOKEN = "sk-live-" + UUID.randomUUID();
    private static final String PASSWORD = "pw-" + UUID.randomUUID();
    private static final String BASIC =
            "Basic " + Base64.getEncoder().encodeToString(("me:" + PASSWORD).getBytes(StandardCharsets.UTF_8));

    private static OnlineBerth online;
    private static Path files;
    private static Shop bearer;
    private static Shop basic;
    private static Shop open;
    private static Shop plain;
    private static EchoSocket socket;

    @BeforeAll
    static void start() throws Exception {
        online = new OnlineBerth();
        files = Files.createTempDirectory("berth-clients");
        Internet internet = online.internet();
        var authority = internet.authority();
        bearer = new Shop(
                internet, internet.address(1), "Bearer " + TOKEN, files, authority.server("api.test", "npm.test"));
        basic = new Shop(internet, internet.address(2), BASIC, files, authority.server("git.test", "pypi.test"));
        open = new Shop(
                internet, internet.address(3), "", files, internet.authority().server("open.test"));
        plain = new Shop(internet, internet.address(4));
        socket = new EchoSocket(internet, internet.address(5), "Bearer " + TOKEN, authority.server("socket.test"));
        internet.names().name("socket.test", internet.address(5));
        internet.names().name("api.test", internet.address(1));
        internet.names().name("npm.test", internet.address(1));
        internet.names().name("git.test", internet.address(2));
        internet.names().name("pypi.test", internet.address(2));
        internet.names().name("open.test", internet.address(3));
        internet.names().name("apt.test", internet.address(4));
        bearer.file("/hello", "hello\n");
        online.secret("TOKEN", TOKEN, "{\"hosts\": [\"api.test\", \"npm.test\", \"socket.test\"]}");
        online.secret(
                "PASSWORD", PASSWORD, "{\"hosts\": [\"git.test\", \"pypi.test\"], \"basic\": {\"user\": \"me\"}}");
        // The authority of open.test is the test's own, which nothing inside knows: what is passed on unopened is
        // between
        // the program and the server.
        String network = """
                {"mode": "restricted", "allow": [{"to": "open.test"}, {"to": "apt.test"}], "secrets": ["TOKEN", "PASSWORD"]}""";
        for (String template : List.of("base", "host")) {
            online.session(template, template, network);
            online.write(template, "authority.pem", authority.pem());
        }
    }

    @AfterAll
    static void stop() throws IOException {
        socket.close();
        online.close();
        for (Shop shop : List.of(bearer, basic, open, plain)) {
            shop.close();
        }
        Directories.remove(files);
    }

    /** Skips a test, saying why, where a program is not to be had. */
    private static void needs(String session, String program) {
        boolean there =
                online.run(session, "command -v " + program + " || true").contains("/");
        assumeTrue(there, () -> "the template " + session + " has no " + program);
    }

    // ---- curl ----------------------------------------------------------------------------------------------------

    @Test
    void curlSpeaksBothVersionsOfHttp() {
        assertThat(online.run("base", "curl -sS --http1.1 -w '%{http_version}' https://api.test/hello"))
                .isEqualTo("hello\n1.1");
        assertThat(online.run("base", "curl -sS --http2 -w '%{http_version}' https://api.test/hello"))
                .isEqualTo("hello\n2");
        assertThat(online.run("base", "curl -sS -H \"Authorization: Bearer $TOKEN\" https://api.test/hello"))
                .isEqualTo("hello\n");
        assertThat(online.run("base", "curl -sS -H 'Authorization: Bearer another' https://api.test/hello"))
                .contains("not the one");
    }

    @Test
    void eventsArriveAsTheyAreSent() {
        assertThat(online.run("base", """
                curl -sSN https://api.test/events | while read -r line; do
                  echo "$line"
                  if [ "$line" = "data: one" ]; then curl -sS https://api.test/seen; fi
                done""")).isEqualTo("data: one\nthanks\n\ndata: two\n\n");
    }

    @Test
    void aLargeBodyComesInThroughConstantMemory() {
        long before = Shop.live();
        assertThat(online.run("base", "curl -sS -o /dev/null -w '%{size_download}' https://api.test/zeros/" + LARGE))
                .isEqualTo(String.valueOf(LARGE));
        assertThat(bearer.liveHalfway() - before).isLessThan(CONSTANT);
        assertThat(online.run(
                        "base",
                        "curl -sS --cacert authority.pem -o /dev/null -w '%{size_download}' https://open.test/zeros/"
                                + LARGE))
                .isEqualTo(String.valueOf(LARGE));
        assertThat(open.liveHalfway() - before).isLessThan(CONSTANT);
    }

    @Test
    void aLargeBodyGoesOutThroughConstantMemory() {
        long before = Shop.live();
        assertThat(online.run("base", "head -c " + LARGE + " /dev/zero | curl -sS -T - https://api.test/count"))
                .isEqualTo(LARGE + "\n");
        assertThat(bearer.liveHalfway() - before).isLessThan(CONSTANT);
    }

    @Test
    void aWebSocketCarriesBothWaysWithATokenThatIsNotInside() {
        assertThat(online.run("base", """
                cat > chat.py <<'END'
                import os, socket, ssl
                raw = socket.create_connection(('127.0.0.1', 3128), 20)
                raw.sendall(b'CONNECT socket.test:443 HTTP/1.1\\r\\nHost: socket.test:443\\r\\n\\r\\n')
                raw.recv(4096)
                s = ssl.create_default_context().wrap_socket(raw, server_hostname='socket.test')
                s.sendall(('GET /chat HTTP/1.1\\r\\nHost: socket.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n'
                    'Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n'
                    'Authorization: Bearer ' + os.environ['TOKEN'] + '\\r\\n\\r\\n').encode())
                head = b''
                while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(1)
                print(head.split(b'\\r\\n')[0].decode())
                for text in (b'hello', b'again'):
                    s.sendall(bytes([0x81, 0x80 | len(text), 1, 2, 3, 4]) + bytes(c ^ (i % 4 + 1) for i, c in enumerate(text)))
                    answer = b''
                    while len(answer) < len(text) + 2: answer += s.recv(100)
                    print(answer[2:].decode())
                END
                python3 chat.py""")).isEqualTo("HTTP/1.1 101 Switching Protocols\nhello\nagain\n");
    }

    // ---- package managers ----------------------------------------------------------------------------------------

    @Test
    void pipInstallsFromAnIndexThatWantsAPassword() throws IOException {
        basic.file("/simple/tiny/", "<a href=\"/files/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>");
        basic.file(
                "/files/tiny-1.0-py3-none-any.whl",
                zip(
                        "tiny.py", "SAYS = 'a tiny thing'\n",
                        "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                        "tiny-1.0.dist-info/WHEEL",
                                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                        "tiny-1.0.dist-info/RECORD",
                                "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n"));
        String output = online.run(
                "base",
                "pip install -q --disable-pip-version-check --no-cache-dir --index-url https://pypi.test/simple --target lib tiny"
                        + " && PYTHONPATH=lib python3 -c 'import tiny; print(tiny.SAYS)'");
        assertThat(output).endsWith("a tiny thing\n");
    }

    private static byte[] zip(String... namesAndContents) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            for (int i = 0; i < namesAndContents.length; i += 2) {
                zip.putNextEntry(new ZipEntry(namesAndContents[i]));
                zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }

    @Test
    void npmInstallsFromARegistryThatWantsAToken() throws Exception {
        needs("host", "npm");
        Path made = Files.createDirectories(files.resolve("npm/package"));
        Files.writeString(made.resolve("package.json"), "{\"name\": \"tiny\", \"version\": \"1.0.0\"}");
        Files.writeString(made.resolve("index.js"), "module.exports = 'a tiny thing'\n");
        Path tarball = files.resolve("tiny.tgz");
        here("tar", "-C", files.resolve("npm").toString(), "-czf", tarball.toString(), "package");
        byte[] content = Files.readAllBytes(tarball);
        String sum = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(content));
        bearer.file("/tiny/-/tiny-1.0.0.tgz", content);
        bearer.file("/tiny", """
                {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "tiny", "version": "1.0.0",
                 "dist": {"tarball": "https://npm.test/tiny/-/tiny-1.0.0.tgz", "shasum": "%s"}}}}""".formatted(sum));
        String output = online.run(
                "host",
                "mkdir -p project && cd project && echo '{}' > package.json && npm install --no-audit --no-fund --no-update-notifier"
                        + " --cache ./cache --registry https://npm.test/ tiny && node -e \"console.log(require('tiny'))\"");
        assertThat(output).endsWith("a tiny thing\n");
    }

    @Test
    void aptReadsARepositoryAsRoot() {
        needs("base", "sudo");
        plain.file("/Packages", """
                Package: tiny
                Version: 1.0
                Architecture: all
                Maintainer: nobody <nobody@apt.test>
                Filename: ./tiny.deb
                Size: 4
                SHA256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
                Description: a tiny thing
                """);
        String output = online.run("base", """
                echo 'deb [trusted=yes] http://apt.test/ ./' > tiny.list
                only="-o Dir::Etc::SourceList=$PWD/tiny.list -o Dir::Etc::SourceParts=-"
                sudo apt-get -q update $only && apt-cache $only show tiny""");
        assertThat(output).contains("Description: a tiny thing");
    }

    // ---- git -----------------------------------------------------------------------------------------------------

    @Test
    void gitClonesAndPushesWithAPasswordThatIsNotInside() throws Exception {
        Path repository = files.resolve("project.git");
        here("git", "init", "-q", "--bare", "-b", "main", repository.toString());
        here("git", "-C", repository.toString(), "config", "http.receivepack", "true");
        String output = online.run("base", """
                git clone -q https://git.test/git/project.git && cd project && git checkout -q -b main 2>/dev/null
                echo hello > hello && git add hello
                git -c user.name=me -c user.email=me@git.test commit -q -m 'Say hello' && git push -q origin main && echo pushed
                cd .. && git clone -q https://me:$PASSWORD@git.test/git/project.git again && cat again/hello""");
        assertThat(output).contains("pushed\n").endsWith("hello\n");
        assertThat(here("git", "-C", repository.toString(), "log", "--format=%s", "main"))
                .isEqualTo("Say hello\n");
    }

    /** What a program outside has written. */
    private static String here(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    // ---- languages -----------------------------------------------------------------------------------------------

    @Test
    void pythonsOwnLibraryFindsTheWay() {
        for (String session : List.of("base", "host")) {
            assertThat(
                            online.run(
                                    session,
                                    "python3 -c \"import urllib.request; print(urllib.request.urlopen('https://api.test/hello').read())\""))
                    .isEqualTo("b'hello\\n'\n");
        }
    }

    @Test
    void pythonsRequestsFindsTheWay() {
        // pip brings it along, so that it is there where nobody has installed it.
        assertThat(online.run("base", """
                python3 -c "
                from pip._vendor import requests, certifi
                import os
                print(requests.get('https://api.test/hello', headers={'Authorization': 'Bearer ' + os.environ['TOKEN']}).text)
                \"""")).isEqualTo("hello\n\n");
    }

    @Test
    void nodeTrustsTheAuthorityAndReachesTheProxy() {
        for (String session : List.of("base", "host")) {
            assertThat(online.run(session, """
                    cat > get.js <<'END'
                    const proxy = new URL(process.env.HTTPS_PROXY)
                    const http = require('http'), https = require('https'), tls = require('tls')
                    http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: 'api.test:443'})
                      .on('connect', (_, socket) => https.get({host: 'api.test', port: 443, defaultPort: 443, path: '/hello',
                          headers: {authorization: 'Bearer ' + process.env.TOKEN},
                          createConnection: () => tls.connect({socket, servername: 'api.test'})},
                          answer => answer.pipe(process.stdout)).on('error', e => console.log(String(e))))
                      .end()
                    END
                    node get.js""")).as(session).isEqualTo("hello\n");
        }
    }

    @Test
    void nodesFetchFindsTheWayByItself() {
        String version = online.run("host", "node --version").strip();
        assumeTrue(
                version.matches("v(2[4-9]|[3-9][0-9]).*"),
                () -> "node " + version + " is older than NODE_USE_ENV_PROXY, so its fetch knows no proxy");
        assertThat(online.run(
                        "host", "node -e \"fetch('https://api.test/hello').then(a => a.text()).then(console.log)\""))
                .isEqualTo("hello\n\n");
    }

    @Test
    void wgetFindsTheWay() {
        needs("host", "wget");
        assertThat(online.run("host", "wget -q -O - https://api.test/hello")).isEqualTo("hello\n");
    }

    @Test
    void javaFindsTheWay() {
        String found = online.run("host", """
                for home in /usr/lib/jvm/*; do if [ -x $home/bin/javac ] && [ -e $home/conf/security/java.security ]; then echo $home/bin/java; fi; done""");
        // Debian keeps a part of its JDKs in /etc, which the template does not have from the host.
        assumeTrue(found.contains("/"), "the template host has no JDK that is complete");
        online.write("host", "Get.java", """
                public class Get {
                  public static void main(String[] a) throws Exception {
                    System.out.write(new java.net.URL("https://api.test/hello").openStream().readAllBytes());
                    System.out.flush();
                  }
                }
                """);
        assertThat(online.run("host", found.lines().findFirst().orElseThrow() + " Get.java"))
                .endsWith("hello\n");
    }
}
