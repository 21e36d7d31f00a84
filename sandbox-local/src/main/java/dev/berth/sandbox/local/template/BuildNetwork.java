package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How build steps reach the network: as this process does. They get its proxy settings, its resolver and the machine's
 * certificates, for the time of the step only; nothing of it stays in the template.
 */
record BuildNetwork(
        Map<String, String> proxies,
        Map<String, String> aptProxies,
        Optional<Path> certificates,
        Optional<Path> resolver) {
    private static final List<String> PROXIES =
            List.of("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY");
    private static final List<String> CERTIFICATE_VARIABLES = List.of(
            "SSL_CERT_FILE",
            "CURL_CA_BUNDLE",
            "GIT_SSL_CAINFO",
            "NODE_EXTRA_CA_CERTS",
            "PIP_CERT",
            "REQUESTS_CA_BUNDLE");
    private static final String CERTIFICATES_INSIDE = "/run/berth-build/certificates.crt";

    static BuildNetwork of(Map<String, String> environment) {
        Map<String, String> proxies = new TreeMap<>();
        for (String name : PROXIES) {
            Optional.ofNullable(environment.get(name)).ifPresent(value -> proxies.put(name, value));
        }
        return new BuildNetwork(
                proxies,
                aptProxies(proxies),
                file(Path.of("/etc/ssl/certs/ca-certificates.crt")),
                file(Path.of("/etc/resolv.conf")));
    }

    /** For steps that have a network of their own. */
    BuildNetwork withoutWays() {
        return new BuildNetwork(Map.of(), Map.of(), certificates, Optional.empty());
    }

    /** What a step finds in its environment. */
    Map<String, String> env() {
        Map<String, String> env = new TreeMap<>(proxies);
        if (certificates.isPresent()) {
            CERTIFICATE_VARIABLES.forEach(name -> env.put(name, CERTIFICATES_INSIDE));
        }
        return env;
    }

    /** What is mounted, read-only: where inside, and what from the host. */
    Map<String, Path> mounts() {
        Map<String, Path> mounts = new TreeMap<>();
        certificates.ifPresent(file -> mounts.put(CERTIFICATES_INSIDE, file));
        resolver.ifPresent(file -> mounts.put("/etc/resolv.conf", file));
        return mounts;
    }

    /** What apt-get gets: the proxy that apt.conf(5) of the machine names as well. */
    Map<String, String> aptEnv() {
        Map<String, String> env = env();
        env.putAll(aptProxies);
        return env;
    }

    private static Map<String, String> aptProxies(Map<String, String> general) {
        Map<String, String> proxies = new TreeMap<>(general);
        for (String scheme : List.of("http", "https")) {
            try {
                ExternalCommand.of(List.of("apt-config", "shell", "PROXY", "Acquire::" + scheme + "::Proxy"))
                        .within(Duration.ofSeconds(10))
                        .run(line -> {
                            if (line.startsWith("PROXY='http") && line.endsWith("'")) {
                                proxies.putIfAbsent(
                                        scheme + "_proxy", line.substring("PROXY='".length(), line.length() - 1));
                            }
                        });
            } catch (IOException e) {
                return proxies; // no apt here, so no proxy of its own
            }
        }
        return proxies;
    }

    private static Optional<Path> file(Path path) {
        try {
            return Files.isReadable(path) ? Optional.of(path.toRealPath()) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
