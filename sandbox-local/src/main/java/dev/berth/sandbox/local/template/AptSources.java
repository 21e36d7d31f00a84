package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Which mirror of Debian this machine uses, so that a build goes where its operator wants it to go. Read from
 * sources.list(5) in both its formats; of all entries only those that look like Debian's own archives count.
 */
record AptSources(String main, String security) {
    static final AptSources PUBLIC =
            new AptSources("http://deb.debian.org/debian", "http://deb.debian.org/debian-security");

    static AptSources ofHost() throws IOException {
        return read(Path.of("/etc/apt"));
    }

    static AptSources read(Path aptDirectory) throws IOException {
        List<String> uris = new ArrayList<>(oneLine(aptDirectory.resolve("sources.list")));
        Path parts = aptDirectory.resolve("sources.list.d");
        if (Files.isDirectory(parts)) {
            try (var files = Files.list(parts)) {
                for (Path file : files.sorted().toList()) {
                    uris.addAll(file.toString().endsWith(".sources") ? deb822(file) : oneLine(file));
                }
            }
        }
        return new AptSources(
                first(uris, "debian").orElse(PUBLIC.main),
                first(uris, "debian-security").orElse(PUBLIC.security));
    }

    /** The lines of sources.list(5) for a suite. Sid has neither updates nor security. */
    List<String> lines(String suite) {
        String archive = "deb " + main + " " + suite + " main";
        if (suite.equals("sid") || suite.equals("unstable")) {
            return List.of(archive);
        }
        return List.of(
                archive,
                "deb " + main + " " + suite + "-updates main",
                "deb " + security + " " + suite + "-security main");
    }

    private static List<String> oneLine(Path file) throws IOException {
        List<String> uris = new ArrayList<>();
        if (Files.isRegularFile(file) && file.toString().endsWith(".list")) {
            for (String line : Files.readAllLines(file)) {
                String[] words = line.replaceFirst("\\[.*?]", "").strip().split("\\s+");
                if (words.length >= 3 && words[0].equals("deb")) {
                    uris.add(words[1]);
                }
            }
        }
        return uris;
    }

    private static List<String> deb822(Path file) throws IOException {
        List<String> uris = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            if (line.regionMatches(true, 0, "URIs:", 0, 5)) {
                uris.addAll(List.of(line.substring(5).strip().split("\\s+")));
            }
        }
        return uris;
    }

    /** One with a password in it is passed over: it would show in the build's output. */
    private static Optional<String> first(List<String> uris, String archive) {
        for (String text : uris) {
            try {
                URI uri = new URI(text.replaceFirst("/+$", ""));
                String path = String.valueOf(uri.getPath());
                boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
                if (http && uri.getUserInfo() == null && path.endsWith("/" + archive)) {
                    return Optional.of(uri.toString());
                }
            } catch (URISyntaxException e) {
                // not for us to judge: apt has its own opinion about such a line
            }
        }
        return Optional.empty();
    }
}
