package dev.berth.bench.rival;

import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.Mounts;
import dev.berth.sandbox.local.linux.Spawn;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A Docker engine of our own: its socket, images and state are in one directory, it makes no networks and no firewall
 * rules, its cgroups are below {@code berth}, and when it is closed all of that is gone. An engine that the machine may
 * have is not touched.
 *
 * <p>Its one image is a root filesystem of this machine's, brought in as a tar archive: no registry is asked.
 */
public final class Docker implements AutoCloseable {
    public static final String INSTALL = "apt-get install -y --no-install-recommends docker.io";
    private static final String IMAGE = "bench";
    private static final String CGROUP = "/berth/docker-bench";
    private static final int START_SECONDS = 60;

    private final Path directory;
    private final Path client;
    private final Process daemon;
    private final List<String> runOptions = new ArrayList<>(List.of("--network=none", "--cgroup-parent=" + CGROUP));

    private Docker(Path directory, Path client, Process daemon, Template template) {
        this.directory = directory;
        this.client = client;
        this.daemon = daemon;
        template.readOnlyHostPaths().forEach(path -> runOptions.add("--volume=" + path + ":" + path + ":ro"));
    }

    /** Starts an engine in a new directory, with an image that has what the template has. */
    public static Docker start(Path directory, Template template) throws IOException, InterruptedException {
        Path server = program("dockerd", List.of("/usr/sbin", "/usr/bin"));
        // An engine refuses clients that are much newer, so the one it came with is first.
        Path client = program("docker", List.of("/usr/bin"));
        Files.createDirectories(directory);
        Process daemon = new ProcessBuilder(
                        server.toString(),
                        "--host=" + socket(directory),
                        "--data-root=" + directory.resolve("data"),
                        "--exec-root=" + directory.resolve("exec"),
                        "--pidfile=" + directory.resolve("pid"),
                        "--bridge=none",
                        "--iptables=false",
                        "--ip6tables=false",
                        "--ip-forward=false",
                        "--cgroup-parent=" + CGROUP)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        Docker docker = new Docker(directory, client, daemon, template);
        try {
            docker.awaitReady();
            docker.load(template.root());
            docker.call("run", "--detach", "--name", "live", IMAGE, "sleep", "1000000");
        } catch (IOException | InterruptedException | RuntimeException e) {
            docker.close();
            throw e;
        }
        return docker;
    }

    /** {@code docker run --rm … true}. */
    public Timed runTrue() {
        return Spawn.of(words("run", "--rm", IMAGE, "true"))::run;
    }

    /** {@code docker exec … bash -c true}. */
    public Timed execTrue() {
        return Spawn.of(words("exec", "live", "bash", "-c", "true"))::run;
    }

    private void awaitReady() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (Files.notExists(directory.resolve("sock")) || run(words("version")) != 0) {
            if (!daemon.isAlive() || System.nanoTime() > deadline) {
                throw new IOException("dockerd did not start: " + lastLine(directory.resolve("log")));
            }
            Thread.sleep(100);
        }
    }

    /** A tar archive of a template's root, piped into {@code docker import}. */
    private void load(Path root) throws IOException, InterruptedException {
        List<Process> pipeline = ProcessBuilder.startPipeline(List.of(
                new ProcessBuilder("tar", "-C", root.toString(), "-c", "--one-file-system", "."),
                new ProcessBuilder(words("import", "-", IMAGE)).redirectOutput(ProcessBuilder.Redirect.DISCARD)));
        for (Process process : pipeline) {
            if (process.waitFor() != 0) {
                throw new IOException("could not make an image for docker: "
                        + process.info().command().orElse("a program") + " failed");
            }
        }
    }

    private void call(String... words) throws IOException, InterruptedException {
        if (run(words(words)) != 0) {
            throw new IOException(
                    "docker " + String.join(" ", words) + ": " + lastLine(directory.resolve("client.log")));
        }
    }

    private int run(List<String> words) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("client.log").toFile())
                .start();
        try (OutputStream nothing = process.getOutputStream()) {
            nothing.flush();
        }
        return process.waitFor();
    }

    private List<String> words(String... words) {
        List<String> all = new ArrayList<>(List.of(client.toString(), "--host=" + socket(directory)));
        List<String> rest = List.of(words);
        all.addAll(rest);
        if (rest.getFirst().equals("run")) {
            all.addAll(3, runOptions);
        }
        return all;
    }

    @Override
    public void close() throws IOException {
        try {
            if (daemon.isAlive()) {
                run(words("rm", "--force", "live"));
            }
            daemon.destroy();
            if (!daemon.waitFor(30, TimeUnit.SECONDS)) {
                daemon.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            daemon.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        for (Mounts.Mounted mount : Mounts.all().reversed()) {
            if (mount.target().startsWith(directory)) {
                Mounts.unmount(mount.target());
            }
        }
        removeCgroups();
        Directories.remove(directory);
    }

    /** Docker removes those of its containers, not their parent. */
    private static void removeCgroups() throws IOException {
        try (var hierarchies = Files.newDirectoryStream(Path.of("/sys/fs/cgroup"), Files::isDirectory)) {
            for (Path hierarchy : hierarchies) {
                Path ours = hierarchy.resolve("berth/docker-bench");
                if (Files.isDirectory(ours)) {
                    try (var tree = Files.walk(ours)) {
                        for (Path group : tree.filter(Files::isDirectory)
                                .sorted(Comparator.reverseOrder())
                                .toList()) {
                            Files.deleteIfExists(group);
                        }
                    }
                    removeIfEmpty(hierarchy.resolve("berth"));
                }
            }
        }
    }

    private static void removeIfEmpty(Path group) {
        try {
            Files.deleteIfExists(group);
        } catch (IOException e) {
            // Sandboxes are in it, or cgroups of another data directory.
        }
    }

    private static String socket(Path directory) {
        return "unix://" + directory.resolve("sock");
    }

    private static Path program(String name, List<String> preferred) throws IOException {
        List<String> places = new ArrayList<>(preferred);
        places.addAll(List.of(System.getenv().getOrDefault("PATH", "").split(":")));
        return places.stream()
                .map(place -> Path.of(place, name))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseThrow(() -> new IOException(name + " is not installed; install it with: " + INSTALL));
    }

    private static String lastLine(Path file) throws IOException {
        return Files.exists(file)
                ? Files.readString(file, StandardCharsets.UTF_8).lines().reduce("nothing was said", (a, b) -> b)
                : "nothing was said";
    }
}
