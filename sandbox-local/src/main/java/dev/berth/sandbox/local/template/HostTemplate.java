package dev.berth.sandbox.local.template;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The template {@code host}: the machine's own {@code /usr}, mounted read-only, below a root that is written here.
 *
 * <p>Everything else is made up, so that nothing private of the host can be in it. What is copied is a short list: the
 * loader's cache, the links of {@code /etc/alternatives} that commands in {@code /usr/bin} point to, public
 * certificates, and two tables of names.
 */
final class HostTemplate {
    static final String NAME = "host";
    /** Counted up when what is written here changes. */
    private static final int GENERATOR = 1;

    private static final List<String> USR_LINKS = List.of("bin", "sbin", "lib", "lib64", "lib32", "libx32");
    private static final List<String> PUBLIC_FILES =
            List.of("etc/ld.so.cache", "etc/ld.so.conf", "etc/services", "etc/protocols", "etc/mime.types");
    private static final long MAX_COPY = 4 << 20;
    private static final int SHADOW_GROUP = 42;
    private static final int USER = 1000;

    private final Path host;

    HostTemplate(Path host) {
        this.host = host;
    }

    List<String> readOnlyHostPaths() {
        return List.of("/usr");
    }

    Map<String, String> env() {
        return Map.of("LANG", "C.UTF-8", "PATH", "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin");
    }

    /** Changes when the generator or what it copies changes. Only looks at times and sizes, since it is asked often. */
    String recipe() throws IOException {
        requireMergedUsr();
        Hash hash = new Hash().add(GENERATOR);
        for (String link : USR_LINKS) {
            hash.add(link).add(Files.isSymbolicLink(host.resolve(link)) ? 1 : 0);
        }
        for (String file : PUBLIC_FILES) {
            addStat(hash, file);
        }
        for (String directory :
                List.of("etc/ld.so.conf.d", "etc/alternatives", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt")) {
            addStat(hash, directory);
        }
        return hash.result();
    }

    void write(Path root) throws IOException {
        requireMergedUsr();
        Files.createDirectories(root);
        RootTree tree = new RootTree(root).mountPoints();
        for (String directory : List.of("/usr", "/etc", "/home", "/mnt", "/media", "/opt", "/srv", "/var")) {
            tree.directory(directory);
        }
        for (String link : USR_LINKS) {
            if (Files.isSymbolicLink(host.resolve(link))) {
                tree.link("/" + link, "usr/" + link);
            }
        }
        tree.directory("/root", 0700, 0);
        for (String directory : List.of("/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/spool")) {
            tree.directory(directory);
        }
        tree.directory("/var/tmp", 01777, 0).link("/var/run", "/run").link("/var/lock", "/run/lock");
        writeEtc(tree);
        writeHome(tree);
        copyPublic(tree);
    }

    private void writeEtc(RootTree tree) throws IOException {
        tree.file("/etc/passwd", Resources.text("host/passwd"))
                .file("/etc/group", Resources.text("host/group"))
                .file("/etc/shadow", bytes(Resources.text("host/shadow")), 0640, 0, SHADOW_GROUP)
                .file("/etc/hostname", "sandbox\n")
                .file("/etc/hosts", Resources.text("hosts"))
                .file("/etc/resolv.conf", "")
                .file("/etc/host.conf", "multi on\n")
                .file("/etc/nsswitch.conf", Resources.text("host/nsswitch.conf"))
                .file("/etc/profile", Resources.text("host/profile"))
                .file("/etc/bash.bashrc", Resources.text("host/bash.bashrc"))
                .file("/etc/shells", "/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n")
                .file("/etc/timezone", "Etc/UTC\n")
                .link("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC")
                .link("/etc/os-release", "../usr/lib/os-release")
                .link("/etc/mtab", "/proc/self/mounts");
        tree.directory("/etc/profile.d").directory("/etc/skel").directory("/etc/opt");
        tree.directory("/etc/ssl").directory("/etc/ssl/certs");
        tree.file("/etc/ssl/openssl.cnf", Resources.text("host/openssl.cnf"));
    }

    private void writeHome(RootTree tree) throws IOException {
        tree.directory("/home/user", 0750, USER);
        byte[] profile = bytes("[ -n \"$BASH_VERSION\" ] && [ -f ~/.bashrc ] && . ~/.bashrc\n");
        byte[] bashrc = bytes("# read by interactive shells, after /etc/bash.bashrc\n");
        tree.file("/home/user/.profile", profile, 0644, USER, USER)
                .file("/home/user/.bashrc", bashrc, 0644, USER, USER);
    }

    private void copyPublic(RootTree tree) throws IOException {
        for (String file : PUBLIC_FILES) {
            Optional<byte[]> content = publicContent(host.resolve(file));
            if (content.isPresent()) {
                tree.file("/" + file, content.get(), 0644, 0, 0);
            }
        }
        tree.directory("/etc/ld.so.conf.d");
        for (Path file : children("etc/ld.so.conf.d")) {
            Optional<byte[]> content = publicContent(file);
            if (content.isPresent()) {
                tree.file("/etc/ld.so.conf.d/" + file.getFileName(), content.get(), 0644, 0, 0);
            }
        }
        tree.directory("/etc/alternatives");
        copyLinks(tree, "etc/alternatives");
        copyLinks(tree, "etc/ssl/certs");
        for (Path file : children("etc/ssl/certs")) {
            Optional<byte[]> content = publicContent(file).filter(HostTemplate::isCertificate);
            if (content.isPresent()) {
                tree.file("/etc/ssl/certs/" + file.getFileName(), content.get(), 0644, 0, 0);
            }
        }
    }

    /** Links that stay in the directory, or lead to what is visible: /usr and /etc/alternatives itself. */
    private void copyLinks(RootTree tree, String directory) throws IOException {
        for (Path link : children(directory)) {
            if (Files.isSymbolicLink(link)) {
                String to = Files.readSymbolicLink(link).toString();
                if (to.startsWith("/usr/") || to.startsWith("/bin/") || to.startsWith("/lib/") || !to.contains("/")) {
                    tree.link("/" + directory + "/" + link.getFileName(), to);
                }
            }
        }
    }

    private List<Path> children(String directory) throws IOException {
        try (var children = Files.list(host.resolve(directory))) {
            return children.sorted().toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** The content of a regular file that everybody on the host may read and that is not huge. */
    private static Optional<byte[]> publicContent(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                || Files.size(file) > MAX_COPY
                || !Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ)) {
            return Optional.empty();
        }
        return Optional.of(Files.readAllBytes(file));
    }

    private static boolean isCertificate(byte[] content) {
        String text = new String(content, StandardCharsets.ISO_8859_1);
        return text.contains("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY-----");
    }

    private void addStat(Hash hash, String path) throws IOException {
        try {
            BasicFileAttributes stat = Files.readAttributes(host.resolve(path), BasicFileAttributes.class);
            hash.add(path).add(stat.lastModifiedTime().toMillis()).add(stat.size());
        } catch (NoSuchFileException e) {
            hash.add(path).add(-1);
        }
    }

    private void requireMergedUsr() {
        for (String link : List.of("bin", "sbin", "lib")) {
            if (!Files.isSymbolicLink(host.resolve(link))) {
                throw SandboxException.unsupported("the template 'host' needs a machine whose /" + link
                        + " is a link into /usr (as on Debian since version 12), and here it is not; build the template"
                        + " 'base' and use that");
            }
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
