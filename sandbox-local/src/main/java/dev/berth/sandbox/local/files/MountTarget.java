package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** A directory in a sandbox's root, held open, so that what is mounted on it goes there and nowhere else. */
public final class MountTarget implements AutoCloseable {
    private static final String DOING = "mount a volume at";

    private final Fd directory;

    private MountTarget(Fd directory) {
        this.directory = directory;
    }

    /**
     * Makes the directory if it is missing. No link is followed on the way: which places are taken was decided by the
     * words of the path, and a link would lead to one of them by other words.
     */
    public static MountTarget find(Path root, String path) throws ErrnoException {
        SandboxPath checked = SandboxPath.parse(path, "/");
        try (Resolver resolver = Resolver.open(() -> root)) {
            Optional<SandboxPath> obstacle = obstacle(resolver, checked);
            if (obstacle.isPresent()) {
                throw inTheWay(path, obstacle.get());
            }
            new DirectoryMaker(resolver, Owner.inside(0, 0)).make(DOING, checked);
            Fd found = resolver.findItself(checked);
            boolean good = false;
            try {
                good = found.stat().isDirectory() && resolver.where(found).equals(Optional.of(checked));
            } finally {
                if (!good) {
                    found.close();
                }
            }
            if (!good) {
                throw inTheWay(path, checked);
            }
            return new MountTarget(found);
        }
    }

    /**
     * Moves aside what is in the way of {@link #find}: the sandbox has put it there since, and without that would never
     * start again.
     *
     * @return what it was, and what it is called now
     */
    public static Optional<String> clear(Path root, String path) throws ErrnoException {
        try (Resolver resolver = Resolver.open(() -> root)) {
            Optional<SandboxPath> obstacle = obstacle(resolver, SandboxPath.parse(path, "/"));
            if (obstacle.isEmpty()) {
                return Optional.empty();
            }
            SandboxPath before = obstacle.get();
            SandboxPath aside = before.parent()
                    .child("berth-aside-"
                            + HexFormat.of()
                                    .toHexDigits(ThreadLocalRandom.current().nextLong()));
            try (Fd parent = resolver.parent(before)) {
                FileCalls.renameat(parent, before.name(DOING), parent, aside.name(DOING));
            }
            return Optional.of(before + ", now " + aside);
        }
    }

    private static SandboxException inTheWay(String path, SandboxPath obstacle) {
        return SandboxException.conflict("could not " + DOING + " " + path + ": " + obstacle
                + " is a link or something else than a directory; remove it, or mount the volume at another place");
    }

    /** The first on the way to a place that is there and is no directory. */
    private static Optional<SandboxPath> obstacle(Resolver resolver, SandboxPath place) throws ErrnoException {
        Deque<SandboxPath> way = new ArrayDeque<>();
        for (SandboxPath step = place; !step.isRoot(); step = step.parent()) {
            way.push(step);
        }
        for (SandboxPath step : way) {
            try (Fd found = resolver.findItself(step)) {
                if (!found.stat().isDirectory()) {
                    return Optional.of(step);
                }
            } catch (ErrnoException e) {
                if (e.errno() == ErrnoException.ENOENT) {
                    return Optional.empty();
                }
                throw e;
            }
        }
        return Optional.empty();
    }

    /** By which mount(2) finds it. */
    public Path path() {
        return directory.path();
    }

    @Override
    public void close() {
        directory.close();
    }
}
