package dev.berth.sandbox.local.files;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.linux.Libc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Instant;
import java.util.Optional;

/** What statx(2) says of a file; its structure is the same on every architecture. Ids are those of the host. */
record Stat(int mode, Owner owner, long size, Instant modifiedAt, Instant changedAt, long inode, long device) {
    static final long SIZE = 256;
    /** STATX_BASIC_STATS */
    static final int MASK = 0x7ff;

    private static final int TYPE = 0xf000;
    private static final int DIRECTORY = 0x4000;
    private static final int FILE = 0x8000;
    private static final int LINK = 0xa000;

    static Stat from(MemorySegment statx) {
        return new Stat(
                statx.get(ValueLayout.JAVA_SHORT, 28) & 0xffff,
                new Owner(statx.get(Libc.INT, 20), statx.get(Libc.INT, 24)),
                statx.get(Libc.LONG, 40),
                Instant.ofEpochSecond(statx.get(Libc.LONG, 112), statx.get(Libc.INT, 120)),
                Instant.ofEpochSecond(statx.get(Libc.LONG, 96), statx.get(Libc.INT, 104)),
                statx.get(Libc.LONG, 32),
                ((long) statx.get(Libc.INT, 136) << 32) | (statx.get(Libc.INT, 140) & 0xffff_ffffL));
    }

    boolean isDirectory() {
        return (mode & TYPE) == DIRECTORY;
    }

    boolean isFile() {
        return (mode & TYPE) == FILE;
    }

    boolean isLink() {
        return (mode & TYPE) == LINK;
    }

    int permissions() {
        return mode & 07777;
    }

    boolean isSameFileAs(Stat other) {
        return inode == other.inode && device == other.device;
    }

    FileInfo info(String path, Optional<String> linkTarget) {
        FileInfo.Type type = isFile()
                ? FileInfo.Type.FILE
                : isDirectory() ? FileInfo.Type.DIRECTORY : isLink() ? FileInfo.Type.LINK : FileInfo.Type.OTHER;
        return new FileInfo(
                path,
                type,
                size,
                permissions(),
                IdMap.toSandbox(owner.uid()),
                IdMap.toSandbox(owner.gid()),
                modifiedAt,
                linkTarget);
    }
}
