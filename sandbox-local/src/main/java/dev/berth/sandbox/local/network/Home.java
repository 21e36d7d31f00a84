package dev.berth.sandbox.local.network;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import tools.jackson.databind.json.JsonMapper;

/**
 * What is remembered of a box in the network, in its directory.
 *
 * @param address its own
 * @param connected whether anything on the machine may be for it; true before the first of it is made
 * @param traffic what it had used when this was written; while it is connected the kernel knows better
 */
record Home(String address, boolean connected, Traffic traffic) {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    static Optional<Home> read(Path box) throws IOException {
        try {
            return Optional.of(JSON.readValue(Files.readAllBytes(file(box)), Home.class));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** At once: after a crash it is the old or the new one. */
    void write(Path box) throws IOException {
        Path partial = box.resolve("network.json.partial");
        Files.write(partial, JSON.writeValueAsBytes(this));
        Files.setPosixFilePermissions(partial, PosixFilePermissions.fromString("rw-------"));
        Files.move(partial, file(box), StandardCopyOption.ATOMIC_MOVE);
    }

    Home with(Traffic now) {
        return new Home(address, connected, now);
    }

    Home disconnected() {
        return new Home(address, false, traffic);
    }

    private static Path file(Path box) {
        return box.resolve("network.json");
    }
}
