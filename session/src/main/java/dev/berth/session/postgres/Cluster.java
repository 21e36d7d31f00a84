package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The directory with the data, and the password to it.
 *
 * <p>A cluster is made elsewhere and renamed when it is whole, so that a server which is killed meanwhile leaves nothing
 * that looks like one. The password is on the disk before that, since a cluster without it is of no use.
 */
record Cluster(Path data, String password) {
    static final String USER = "berth";
    private static final String PARTIAL = "data.partial";
    private static final String PASSWORD_FOR_INITDB = PARTIAL + "-password";
    private static final long INITDB_SECONDS = 180;

    static Cluster open(Path directory, Installation installation, boolean sync) throws IOException {
        Path data = directory.resolve("data");
        Path passwordFile = directory.resolve("password");
        removeHalfMade(directory);
        if (!Files.exists(data)) {
            String password = newPassword();
            write(passwordFile, password);
            make(directory, password, data, installation, sync);
        }
        checkVersion(data, installation.programs());
        if (!Files.exists(passwordFile)) {
            throw SandboxException.conflict(
                    "could not start PostgreSQL in " + directory + ": its password is missing; put " + passwordFile
                            + " back, or move " + data + " away to begin with an empty database");
        }
        return new Cluster(data, Files.readString(passwordFile).strip());
    }

    /** Tells the processes of this cluster from those of others; PostgreSQL shows it in their titles. */
    String name() {
        try {
            byte[] hash =
                    MessageDigest.getInstance("SHA-256").digest(data.toString().getBytes(StandardCharsets.UTF_8));
            return "berth-" + HexFormat.of().formatHex(hash, 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    /** PostgreSQL keeps it while it runs: its pid, where it listens, and whether it is ready. */
    Path pidFile() {
        return data.resolve("postmaster.pid");
    }

    private static void make(Path directory, String password, Path data, Installation installation, boolean sync)
            throws IOException {
        // an initdb of a server that was killed may live a moment longer, so not the same name again
        Path partial = Files.createTempDirectory(directory, PARTIAL);
        Path passwordForInitdb = directory.resolve(PASSWORD_FOR_INITDB);
        Account maker = installation.account().maker();
        try {
            maker.give(partial);
            write(passwordForInitdb, password);
            maker.give(passwordForInitdb);
            List<String> argv = new ArrayList<>(List.of(
                    installation.programs().initdb().toString(),
                    "--pgdata=" + partial,
                    "--username=" + USER,
                    "--pwfile=" + passwordForInitdb,
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--no-instructions"));
            if (!sync) {
                argv.add("--no-sync");
            }
            long mark = installation.log().end();
            int status = run(maker.process(argv, "KILL", installation.log()));
            if (status != 0) {
                throw installation
                        .diagnosis()
                        .of(
                                "initdb ended with status " + status,
                                installation.log().tail(mark));
            }
            installation.account().give(partial);
            Files.move(partial, data, StandardCopyOption.ATOMIC_MOVE);
            Trees.forceOne(directory);
        } finally {
            removeHalfMade(directory);
        }
    }

    /** Runs a program on a thread of its own that stays until it has ended, because of the death signal. */
    private static int run(ProcessBuilder builder) throws IOException {
        AtomicReference<IOException> failure = new AtomicReference<>();
        AtomicReference<Integer> status = new AtomicReference<>(-1);
        Thread thread = Thread.ofPlatform().daemon().name("initdb").start(() -> {
            try {
                Process process = builder.start();
                try {
                    process.waitFor(INITDB_SECONDS, TimeUnit.SECONDS);
                } finally {
                    process.destroyForcibly();
                }
                status.set(process.waitFor());
            } catch (IOException e) {
                failure.set(e);
            } catch (InterruptedException e) {
                status.set(-1);
            }
        });
        try {
            thread.join();
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while making a database", e);
        }
        IOException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        return status.get();
    }

    private static void checkVersion(Path data, Programs programs) throws IOException {
        String of = Files.readString(data.resolve("PG_VERSION")).strip();
        String major = programs.major();
        if (!of.equals(major)) {
            throw SandboxException.conflict("could not start PostgreSQL in " + data + ": it was made by PostgreSQL "
                    + of
                    + " and this is " + major + "; keep the directory and dump it with the Berth that made it, or set"
                    + " DATABASE_URL to a PostgreSQL " + of + " that has its content");
        }
    }

    private static void removeHalfMade(Path directory) throws IOException {
        try (DirectoryStream<Path> partials = Files.newDirectoryStream(directory, PARTIAL + "*")) {
            for (Path partial : partials) {
                Trees.remove(partial);
            }
        }
    }

    private static String newPassword() {
        byte[] bytes = new byte[32];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static void write(Path file, String password) throws IOException {
        Files.deleteIfExists(file);
        Set<StandardOpenOption> options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        var permissions = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        try (var channel = Files.newByteChannel(file, options, permissions)) {
            channel.write(ByteBuffer.wrap((password + "\n").getBytes(StandardCharsets.US_ASCII)));
        }
        Trees.forceOne(file);
    }
}
