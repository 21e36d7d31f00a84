package dev.berth.conformance;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/** What a {@code package-lock.json} names, installed as it says, and the node that is among it. */
final class Npm {
    private final Path project;

    private Npm(Path project) {
        this.project = project;
    }

    /** Installs it, unless this lock file is installed already. */
    static Npm install(Path project) throws IOException, InterruptedException {
        String wanted = digest(project.resolve("package-lock.json"));
        Path installed = project.resolve("node_modules/.installed");
        if (!Files.exists(installed) || !Files.readString(installed).equals(wanted)) {
            Path log = Files.createTempFile("npm", ".log");
            try {
                // Not this program's own streams, by which Maven talks to it.
                int code = new ProcessBuilder(List.of("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"))
                        .directory(project.toFile())
                        .redirectErrorStream(true)
                        .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                        .redirectOutput(log.toFile())
                        .start()
                        .waitFor();
                if (code != 0) {
                    throw new IOException("'npm ci' failed in " + project + " with " + code
                            + "; it needs npm's registry, or what it keeps of it in ~/.npm:\n" + Files.readString(log));
                }
            } finally {
                Files.delete(log);
            }
            Files.writeString(installed, wanted);
        }
        return new Npm(project);
    }

    /** Debian's is too old to run TypeScript. */
    Path node() {
        String architecture = System.getProperty("os.arch").equals("aarch64") ? "arm64" : "x64";
        return project.resolve("node_modules/node-linux-" + architecture + "/bin/node");
    }

    private static String digest(Path file) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
