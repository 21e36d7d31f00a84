package dev.berth.egress.inside;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The variables and files by which programs in a sandbox find the proxy and trust the authority that it opens TLS with.
 *
 * <p>Files are put in place once and marked as such, so that a sandbox that wakes costs one look, and what its users
 * change afterwards stays changed. None of them does harm where there is no network any more.
 */
public final class Outfit {
    static final String OWN = "/etc/berth";
    static final String AUTHORITY = OWN + "/ca.crt";
    static final String JAVA_TRUST = OWN + "/java.p12";
    static final String MARK = OWN + "/installed";
    static final String BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
    static final String HASHED = "/etc/ssl/certs/";
    /** What update-ca-certificates(8) makes the bundle of. */
    static final String LOCAL_AUTHORITIES = "/usr/local/share/ca-certificates";

    static final String APT = "/etc/apt/apt.conf.d";
    static final String SUDO = "/etc/sudoers.d";

    private static final String JAVA = "/usr/bin/java";
    private static final String PROXY = "http://127.0.0.1:" + Outlet.PORT;
    private static final String DIRECT = "localhost,127.0.0.1,::1";
    /** Counted up when what is written here changes. */
    private static final int VERSION = 1;

    private static final long MOST_BUNDLE = 16 << 20;
    private static final int MOST_SMALL = 64 << 10;
    private static final int READABLE = 0644;
    private static final int SUDOERS = 0440;

    private final X509Certificate authority;
    private final String pem;
    private final Roots roots = new Roots();

    public Outfit(X509Certificate authority) {
        this.authority = authority;
        this.pem = Roots.pem(authority);
    }

    // ---- variables -----------------------------------------------------------------------------------------------

    /** For every sandbox that has a network. */
    public Map<String, String> variables() {
        Map<String, String> all = new HashMap<>();
        for (String name :
                List.of("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")) {
            all.put(name, PROXY);
        }
        all.put("no_proxy", DIRECT);
        all.put("NO_PROXY", DIRECT);
        // OpenSSL, and with it Python, Ruby and httpx; Go; Rust; and those that bring a bundle of their own.
        for (String name : List.of(
                "SSL_CERT_FILE",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "GIT_SSL_CAINFO",
                "PIP_CERT",
                "AWS_CA_BUNDLE",
                "CARGO_HTTP_CAINFO",
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH")) {
            all.put(name, BUNDLE);
        }
        // These add to what the programs trust already.
        all.put("NODE_EXTRA_CA_CERTS", AUTHORITY);
        all.put("DENO_CERT", AUTHORITY);
        all.put("NODE_USE_ENV_PROXY", "1");
        return Map.copyOf(all);
    }

    /** For this one, by what is installed in it. */
    public Map<String, String> variables(Sandbox sandbox) {
        if (!sandbox.files().exists(JAVA)) {
            return variables(); // as Java tells on stderr that it was given options
        }
        Map<String, String> all = new HashMap<>(variables());
        all.put(
                "JAVA_TOOL_OPTIONS",
                "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + Outlet.PORT + " -Dhttps.proxyHost=127.0.0.1"
                        + " -Dhttps.proxyPort=" + Outlet.PORT + " -Dhttp.nonProxyHosts=localhost|127.*|[::1]"
                        + " -Djavax.net.ssl.trustStore=" + JAVA_TRUST + " -Djavax.net.ssl.trustStoreType=PKCS12"
                        + " -Djavax.net.ssl.trustStorePassword=" + Roots.PASSWORD);
        return Map.copyOf(all);
    }

    // ---- files ---------------------------------------------------------------------------------------------------

    /**
     * Puts the files in place, unless they are there.
     *
     * @return what could not be done, and why. A sandbox that is full or odd still has to come up, so that somebody can
     *     put it right; what is missing is tried again the next time
     * @throws SandboxException {@code gone} or {@code unavailable} if the sandbox itself is
     */
    public List<String> install(Sandbox sandbox) {
        SandboxFiles files = sandbox.files();
        boolean java = files.exists(JAVA);
        String mark = "version " + VERSION + (java ? ", java" : "") + "\n" + pem;
        if (read(files, MARK).filter(mark::equals).isPresent()) {
            return List.of();
        }
        List<String> problems = new ArrayList<>();
        try (RootOwned owned = RootOwned.open(files)) {
            Optional<String> before = read(files, AUTHORITY).filter(old -> !old.equals(pem));
            attempt(problems, BUNDLE, () -> bundle(files, owned, before));
            attempt(problems, AUTHORITY, () -> owned.write(AUTHORITY, bytes(pem), READABLE));
            String hashed = HASHED + SubjectHash.of(authority) + ".0";
            attempt(problems, hashed, () -> owned.write(hashed, bytes(pem), READABLE));
            // Where this cannot be written, as where it is the host's, the system's list is not made anew of it either.
            inDirectory(
                    files,
                    new ArrayList<>(),
                    LOCAL_AUTHORITIES,
                    "berth.crt",
                    name -> owned.write(name, bytes(pem), READABLE));
            inDirectory(
                    files,
                    problems,
                    APT,
                    "80berth-proxy",
                    name -> owned.write(name, bytes("""
                    // sudo(8) drops the variables that say the same.
                    Acquire::http::Proxy "%s";
                    Acquire::https::Proxy "%s";
                    """.formatted(PROXY, PROXY)), READABLE));
            inDirectory(
                    files,
                    problems,
                    SUDO,
                    "berth-network",
                    name -> owned.write(
                            name, bytes("Defaults env_keep += \"" + String.join(" ", names()) + "\"\n"), SUDOERS));
            if (java) {
                attempt(problems, JAVA_TRUST, () -> owned.write(JAVA_TRUST, roots.store(authority), READABLE));
            }
            if (problems.isEmpty()) {
                attempt(problems, MARK, () -> owned.write(MARK, bytes(mark), READABLE));
            }
        } catch (SandboxException e) {
            problems.add(tolerable(e).getMessage());
        }
        return List.copyOf(problems);
    }

    private List<String> names() {
        return variables().keySet().stream().sorted().toList();
    }

    /** The certificates that a system trusts, with ours, and without the one that was ours before. */
    private void bundle(SandboxFiles files, RootOwned owned, Optional<String> before) {
        if (!files.exists(BUNDLE)) {
            owned.write(BUNDLE, bytes(roots.pem() + pem), READABLE);
            return;
        }
        String now = text(files, BUNDLE, MOST_BUNDLE);
        if (now.length() >= MOST_BUNDLE) {
            throw SandboxException.limit("it is too large to be a list of certificates; remove it");
        }
        String cleaned = before.map(old -> now.replace(old, "")).orElse(now);
        if (!cleaned.contains(pem)) {
            // Its owner and permissions stay as they are.
            String end = cleaned.isEmpty() || cleaned.endsWith("\n") ? "" : "\n";
            files.write(BUNDLE, new ByteArrayInputStream(bytes(cleaned + end + pem)));
        }
    }

    private interface Step {
        void run();
    }

    private interface Named {
        void write(String path);
    }

    /** Of a program that may not be installed. */
    private static void inDirectory(
            SandboxFiles files, List<String> problems, String directory, String name, Named step) {
        if (files.exists(directory)) {
            attempt(problems, directory + "/" + name, () -> step.write(directory + "/" + name));
        }
    }

    private static void attempt(List<String> problems, String what, Step step) {
        try {
            step.run();
        } catch (SandboxException e) {
            problems.add("could not write " + what + ": " + tolerable(e).getMessage());
        }
    }

    private static SandboxException tolerable(SandboxException e) {
        if (e.code() == ErrorCode.GONE || e.code() == ErrorCode.UNAVAILABLE) {
            throw e;
        }
        return e;
    }

    /** A small file, if it is there and is one. */
    private static Optional<String> read(SandboxFiles files, String path) {
        try {
            return Optional.of(text(files, path, MOST_SMALL));
        } catch (SandboxException e) {
            if (tolerable(e).code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            return Optional.of(""); // something else stands there, which writing will tell of
        }
    }

    private static String text(SandboxFiles files, String path, long most) {
        try (InputStream content = files.read(path, 0, most)) {
            // Byte by byte, so that what is not text is written back as it was.
            return new String(content.readAllBytes(), ISO_8859_1);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not read " + path + " of the sandbox: " + e.getMessage(), e);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }
}
