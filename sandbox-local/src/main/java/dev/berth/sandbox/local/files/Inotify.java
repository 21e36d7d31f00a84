package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * One queue of inotify(7), and a bell (eventfd(2)) that ends the waiting for it.
 *
 * <p>Used by one thread at a time, but for {@link #wake}.
 */
final class Inotify implements AutoCloseable {
    static final int IN_MODIFY = 0x2;
    static final int IN_ATTRIB = 0x4;
    static final int IN_MOVED_FROM = 0x40;
    static final int IN_MOVED_TO = 0x80;
    static final int IN_CREATE = 0x100;
    static final int IN_DELETE = 0x200;
    static final int IN_DELETE_SELF = 0x400;
    static final int IN_MOVE_SELF = 0x800;
    static final int IN_UNMOUNT = 0x2000;
    static final int IN_Q_OVERFLOW = 0x4000;
    static final int IN_IGNORED = 0x8000;
    static final int IN_ISDIR = 0x40000000;
    private static final int IN_ONLYDIR = 0x01000000;
    private static final int IN_EXCL_UNLINK = 0x04000000;
    private static final int WATCHED = IN_MODIFY
            | IN_ATTRIB
            | IN_MOVED_FROM
            | IN_MOVED_TO
            | IN_CREATE
            | IN_DELETE
            | IN_DELETE_SELF
            | IN_MOVE_SELF
            | IN_ONLYDIR
            | IN_EXCL_UNLINK;

    private static final int FLAGS = FileCalls.O_CLOEXEC | FileCalls.O_NONBLOCK;
    private static final short POLLIN = 1;
    private static final long HEADER = 16;
    private static final long BUFFER = 64 * 1024;

    private static final MethodHandle INIT = Libc.bind("inotify_init1", FunctionDescriptor.of(INT, INT));
    private static final MethodHandle ADD =
            Libc.bind("inotify_add_watch", FunctionDescriptor.of(INT, INT, POINTER, INT));
    private static final MethodHandle REMOVE = Libc.bind("inotify_rm_watch", FunctionDescriptor.of(INT, INT, INT));
    private static final MethodHandle EVENTFD = Libc.bind("eventfd", FunctionDescriptor.of(INT, INT, INT));
    private static final MethodHandle RING = Libc.bind("eventfd_write", FunctionDescriptor.of(INT, INT, LONG));
    private static final MethodHandle POLL = Libc.bind("poll", FunctionDescriptor.of(INT, POINTER, LONG, INT));
    private static final MethodHandle READ = Libc.bind("read", FunctionDescriptor.of(LONG, INT, POINTER, LONG));

    private final Fd queue;
    private final Fd bell;

    private Inotify(Fd queue, Fd bell) {
        this.queue = queue;
        this.bell = bell;
    }

    /** What the kernel says happened: to a name in a watched directory, or to the directory if the name is empty. */
    record Event(int watch, int mask, int cookie, byte[] name) {
        boolean is(int bits) {
            return (mask & bits) != 0;
        }
    }

    static Inotify open() throws ErrnoException {
        try {
            Fd queue =
                    new Fd((int) FileCalls.call("inotify_init1", (_, errno) -> (int) INIT.invokeExact(errno, FLAGS)));
            try {
                return new Inotify(queue, new Fd((int)
                        FileCalls.call("eventfd", (_, errno) -> (int) EVENTFD.invokeExact(errno, 0, FLAGS))));
            } catch (ErrnoException e) {
                queue.close();
                throw e;
            }
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EMFILE) {
                throw SandboxException.limit("could not watch: this machine has as many watches as it allows;"
                        + " close some, or raise fs.inotify.max_user_instances");
            }
            throw e;
        }
    }

    /** Watches an open directory. @return its number, the same again for a directory that is watched already */
    int add(Fd directory) throws ErrnoException {
        try {
            return (int) FileCalls.call("inotify_add_watch", (arena, errno) ->
                    (int) ADD.invokeExact(errno, queue.number(), FileCalls.string(arena, directory.link()), WATCHED));
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOSPC) {
                throw SandboxException.limit("could not watch: this machine watches as many directories as it allows;"
                        + " watch fewer, or raise fs.inotify.max_user_watches");
            }
            throw e;
        }
    }

    /** Stops watching a directory; the kernel may have done so before. */
    void remove(int watch) {
        try {
            FileCalls.call("inotify_rm_watch", (_, errno) -> (int) REMOVE.invokeExact(errno, queue.number(), watch));
        } catch (ErrnoException e) {
            if (e.errno() != ErrnoException.EINVAL) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Blocks, so on a platform thread, until there are events or {@link #wake} is called. */
    void await() throws ErrnoException {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment descriptors = memory.allocate(16, 4);
            descriptors.set(ValueLayout.JAVA_INT, 0, queue.number());
            descriptors.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
            descriptors.set(ValueLayout.JAVA_INT, 8, bell.number());
            descriptors.set(ValueLayout.JAVA_SHORT, 12, POLLIN);
            FileCalls.call("poll", (_, errno) -> (int) POLL.invokeExact(errno, descriptors, 2L, -1));
        }
    }

    /** The events that are there, none if the queue is empty. */
    List<Event> read() throws ErrnoException {
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment buffer = memory.allocate(BUFFER, 8);
            long length = FileCalls.call(
                    "read", (_, errno) -> (long) READ.invokeExact(errno, queue.number(), buffer, BUFFER));
            List<Event> events = new ArrayList<>();
            for (long at = 0; at < length; ) {
                int size = buffer.get(ValueLayout.JAVA_INT, at + 12);
                events.add(new Event(
                        buffer.get(ValueLayout.JAVA_INT, at),
                        buffer.get(ValueLayout.JAVA_INT, at + 4),
                        buffer.get(ValueLayout.JAVA_INT, at + 8),
                        DirectoryReader.name(buffer.asSlice(at + HEADER, size))));
                at += HEADER + size;
            }
            return events;
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EAGAIN) {
                return List.of();
            }
            throw e;
        }
    }

    void wake() throws ErrnoException {
        FileCalls.call("eventfd_write", (_, errno) -> (int) RING.invokeExact(errno, bell.number(), 1L));
    }

    @Override
    public void close() {
        queue.close();
        bell.close();
    }
}
