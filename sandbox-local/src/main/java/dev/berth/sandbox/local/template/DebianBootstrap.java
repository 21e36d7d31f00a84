package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Makes the smallest Debian root that apt works in, by mmdebstrap or, where that is missing, debootstrap, and makes it a
 * sandbox's: shifted owners, nothing of the host's name and resolver, and the user {@code user}.
 */
final class DebianBootstrap {
    /** Counted up when what comes out here changes, so that no cached layer of before is used. */
    static final int FORMAT = 1;

    private static final int USER = 1000;
    private static final List<String> LEFT_OUT = List.of(
            "path-exclude=/usr/share/man/*",
            "path-exclude=/usr/share/info/*",
            "path-exclude=/usr/share/locale/*",
            "path-exclude=/usr/share/doc/*",
            "path-include=/usr/share/doc/*/copyright");

    private final AptSources sources;
    private final Map<String, String> environment;

    DebianBootstrap(AptSources sources, Map<String, String> environment) {
        this.sources = sources;
        this.environment = environment;
    }

    static String architecture() {
        return switch (System.getProperty("os.arch", "")) {
            case "amd64", "x86_64" -> "amd64";
            case "aarch64" -> "arm64";
            case String other -> other;
        };
    }

    /** Makes {@code root}, which is not there yet. */
    ExternalCommand.Ended make(String suite, Path root, Consumer<String> onLine) throws IOException {
        ExternalCommand.Ended ended =
                command(suite, root).confined().with(environment).run(onLine);
        if (ended.ok()) {
            finish(suite, root);
        }
        return ended;
    }

    private ExternalCommand command(String suite, Path root) {
        if (ExternalCommand.find("mmdebstrap").isPresent()) {
            List<String> argv = new ArrayList<>(List.of("mmdebstrap", "--mode=root", "--variant=minbase"));
            LEFT_OUT.forEach(option -> argv.add("--dpkgopt=" + option));
            argv.addAll(List.of(suite, root.toString()));
            argv.addAll(sources.lines(suite));
            return ExternalCommand.of(argv);
        }
        if (ExternalCommand.find("debootstrap").isPresent()) {
            return ExternalCommand.of(
                    List.of("debootstrap", "--variant=minbase", suite, root.toString(), sources.main()));
        }
        throw SandboxException.unsupported("a Debian template is built with mmdebstrap or debootstrap, and this machine"
                + " has neither; install one with 'apt-get install mmdebstrap'");
    }

    private void finish(String suite, Path root) throws IOException {
        FileTree.deleteChildren(root.resolve("var/lib/apt/lists"));
        FileTree.deleteChildren(root.resolve("var/cache/apt"));
        FileTree.deleteChildren(root.resolve("var/log"));
        FileTree.deleteChildren(root.resolve("dev"));
        Files.createDirectories(root.resolve("etc/dpkg/dpkg.cfg.d"));
        FileTree.shiftOwners(root);
        RootTree tree = new RootTree(root).mountPoints();
        tree.file("/etc/apt/sources.list", String.join("\n", AptSources.PUBLIC.lines(suite)) + "\n")
                .file("/etc/dpkg/dpkg.cfg.d/berth", String.join("\n", LEFT_OUT) + "\n")
                .file("/etc/apt/apt.conf.d/90berth", "Acquire::Languages \"none\";\nAPT::Install-Recommends \"0\";\n")
                .file("/etc/hostname", "sandbox\n")
                .file("/etc/hosts", Resources.text("hosts"))
                .file("/etc/resolv.conf", "")
                .file("/etc/machine-id", "")
                .file(
                        "/usr/sbin/policy-rc.d",
                        bytes("#!/bin/sh\n# no service starts by itself\nexit 101\n"),
                        0755,
                        0,
                        0);
        Files.deleteIfExists(root.resolve("etc/dpkg/dpkg.cfg.d/99mmdebstrap"));
        addUser(tree, root);
    }

    private static void addUser(RootTree tree, Path root) throws IOException {
        append(tree, "/etc/passwd", "user:x:1000:1000:user:/home/user:/bin/bash\n", 0644, 0);
        append(tree, "/etc/group", "user:x:1000:\n", 0644, 0);
        append(tree, "/etc/shadow", "user:!:20000:0:99999:7:::\n", 0640, 42);
        append(tree, "/etc/gshadow", "user:!::\n", 0640, 42);
        tree.directory("/home").directory("/home/user", 0750, USER);
        try (var skeleton = Files.list(root.resolve("etc/skel"))) {
            for (Path file : skeleton.filter(Files::isRegularFile).toList()) {
                tree.file("/home/user/" + file.getFileName(), Files.readAllBytes(file), 0644, USER, USER);
            }
        }
    }

    private static void append(RootTree tree, String path, String line, int mode, int group) throws IOException {
        tree.file(path, bytes(tree.read(path) + line), mode, 0, group);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
