package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/** Reads the entries of an open directory in pieces, getdents64(2), however many there are. */
final class DirectoryReader implements AutoCloseable {
    private static final MethodHandle GETDENTS64 =
            Libc.bind("getdents64", FunctionDescriptor.of(LONG, INT, POINTER, LONG));
    private static final long BUFFER = 32 * 1024;
    private static final long RECORD_LENGTH = 16;
    private static final long TYPE = 18;
    private static final long NAME = 19;
    private static final byte UNKNOWN = 0;
    private static final byte DIRECTORY = 4;

    private final Fd directory;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment buffer = arena.allocate(BUFFER, Long.BYTES);

    DirectoryReader(Fd directory) {
        this.directory = directory;
    }

    /**
     * One entry.
     *
     * @param maybeDirectory false if it was something else when the directory was read; some filesystems never say
     */
    record Entry(byte[] name, boolean maybeDirectory) {}

    /** The next entries, none at the end; the thread is lent to others in between. */
    List<Entry> next() throws ErrnoException {
        while (true) {
            long length = FileCalls.call("getdents64", (_, errno) ->
                    (long) GETDENTS64.invokeExact(errno, directory.number(), buffer, BUFFER));
            if (length == 0) {
                return List.of();
            }
            List<Entry> entries = parse(length);
            if (!entries.isEmpty()) {
                Resolver.giveWay();
                return entries;
            }
        }
    }

    private List<Entry> parse(long length) {
        List<Entry> entries = new ArrayList<>();
        for (long at = 0; at < length; ) {
            int size = buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, at + RECORD_LENGTH) & 0xffff;
            byte[] name = name(buffer.asSlice(at + NAME, size - NAME));
            if (!isDot(name)) {
                byte type = buffer.get(ValueLayout.JAVA_BYTE, at + TYPE);
                entries.add(new Entry(name, type == DIRECTORY || type == UNKNOWN));
            }
            at += size;
        }
        return entries;
    }

    /** The bytes up to the NUL. */
    static byte[] name(MemorySegment padded) {
        long length = 0;
        while (length < padded.byteSize() && padded.get(ValueLayout.JAVA_BYTE, length) != 0) {
            length++;
        }
        return padded.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
    }

    private static boolean isDot(byte[] name) {
        return name[0] == '.' && (name.length == 1 || (name.length == 2 && name[1] == '.'));
    }

    @Override
    public void close() {
        arena.close();
    }
}
