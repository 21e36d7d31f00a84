package dev.berth.session.postgres;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * As whom PostgreSQL's programs run: as the server itself, or, since they refuse root, as nobody else on the machine.
 *
 * @param uid the user, who owns the cluster
 * @param gid the group, which alone can enter the cluster's directory
 * @param root whether the server is root and becomes that user; otherwise it is that user
 * @param setpriv the program that does it, setpriv(1) of util-linux
 */
record Account(int uid, int gid, boolean root, String setpriv) {
    /**
     * The last id before the sandboxes' range, without an entry in passwd(5): no login, no other service and no sandbox
     * has it. As the 65535th of its block, which is no valid id in many places, no container is likely to have it either.
     */
    static final int PRIVATE = 1_795_162_111;
    /** The one user without privileges that every machine has an entry for. */
    private static final int NOBODY = 65_534;

    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    static Account current() throws IOException {
        Path self = Path.of("/proc/self");
        int uid = (int) Files.getAttribute(self, "unix:uid");
        int gid = (int) Files.getAttribute(self, "unix:gid");
        return uid == 0 ? new Account(PRIVATE, PRIVATE, true, "setpriv") : new Account(uid, gid, false, "setpriv");
    }

    /**
     * As whom a cluster is made. initdb(1) wants a name from getpwuid(3), which the private user has not, so it runs as
     * nobody. Another process of nobody cannot reach it: the directory is closed to it, and ptrace(2) asks for the same
     * group too, which is the private one.
     */
    Account maker() {
        return root ? new Account(NOBODY, gid, true, setpriv) : this;
    }

    /**
     * Prepares to run a program of PostgreSQL in a session of its own, so that a Ctrl-C meant for the server does not stop
     * it, with its output in the log.
     *
     * @param deathSignal what it gets when the <em>thread</em> that starts it ends (prctl(2), PR_SET_PDEATHSIG), so that
     *     thread has to be a platform thread which stays until the program has ended; null for a program that is brief
     */
    ProcessBuilder process(List<String> argv, @Nullable String deathSignal, ServerLog log) {
        List<String> command = new ArrayList<>();
        command.add(setpriv);
        command.add("--no-new-privs");
        if (root) {
            command.addAll(List.of("--reuid=" + uid, "--regid=" + gid, "--clear-groups"));
        }
        if (deathSignal != null) {
            command.addAll(List.of("--pdeathsig", deathSignal));
        }
        command.add("setsid");
        command.addAll(argv);
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(Path.of("/").toFile()) // the server's own may be closed to this user
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(log.redirect())
                .redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(Map.of("LC_ALL", "C", "TZ", "UTC", "PATH", PATH));
        return builder;
    }

    /** Opens a directory to this user, and to nobody but the server beside it. */
    void admit(Path directory) throws IOException {
        if (root) {
            Files.setAttribute(directory, "unix:gid", gid);
        }
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(root ? "rwx--x---" : "rwx------"));
    }

    /** Makes this user the owner of a file or of a directory with all that is in it. Follows no links. */
    void give(Path tree) throws IOException {
        if (!root) {
            return;
        }
        Files.walkFileTree(tree, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                    throws IOException {
                return visitFile(directory, attributes);
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.setAttribute(file, "unix:gid", gid, LinkOption.NOFOLLOW_LINKS);
                Files.setAttribute(file, "unix:uid", uid, LinkOption.NOFOLLOW_LINKS);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
