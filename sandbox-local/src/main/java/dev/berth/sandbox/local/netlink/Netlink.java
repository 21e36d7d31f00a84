package dev.berth.sandbox.local.netlink;

import static dev.berth.sandbox.local.linux.Libc.INT;
import static dev.berth.sandbox.local.linux.Libc.LONG;
import static dev.berth.sandbox.local.linux.Libc.POINTER;

import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.Libc;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A conversation with the kernel, of one thread at a time. The kernel does what it is asked before the asking call returns,
 * and its answers are there then, so nothing here waits for anything.
 */
public final class Netlink implements AutoCloseable {
    /** Interfaces, addresses and ways, rtnetlink(7). */
    public static final int ROUTE = 0;
    /** The rules of nf_tables. */
    public static final int NETFILTER = 12;

    private static final int AF_NETLINK = 16;
    private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int O_RDONLY_CLOEXEC = 0x80000;
    private static final int CLONE_NEWNET = 0x40000000;
    /** What the kernel fills at most with a part of a list. */
    private static final int BUFFER = 64 << 10;

    private static final int ERROR = 2;
    private static final int DONE = 3;
    /** The list has changed while it was told. */
    private static final int INTERRUPTED = 0x10;

    private static final int ATTEMPTS = 20;

    private static final MethodHandle SOCKET = Libc.bind("socket", FunctionDescriptor.of(INT, INT, INT, INT));
    private static final MethodHandle SEND = Libc.bind("send", FunctionDescriptor.of(LONG, INT, POINTER, LONG, INT));
    private static final MethodHandle RECV = Libc.bind("recv", FunctionDescriptor.of(LONG, INT, POINTER, LONG, INT));
    private static final MethodHandle CLOSE = Libc.bind("close", FunctionDescriptor.of(INT, INT));
    private static final MethodHandle SETNS = Libc.bind("setns", FunctionDescriptor.of(INT, INT, INT));
    private static final MethodHandle OPEN =
            Libc.bindVariadic("open", FunctionDescriptor.of(INT, POINTER, INT, INT), 2);

    private final int socket;
    private int sequence;

    private Netlink(int socket) {
        this.socket = socket;
    }

    /** With the part of the kernel that a protocol is of, about the network of this machine. */
    public static Netlink open(int protocol) throws IOException {
        return new Netlink((int)
                call("socket", (_, errno) -> (int) SOCKET.invokeExact(errno, AF_NETLINK, SOCK_RAW_CLOEXEC, protocol)));
    }

    /**
     * About the network that a process has. A socket belongs to the network of the thread that made it, so a thread is made
     * that enters that network, setns(2), and is in no other one afterwards.
     */
    public static Netlink openIn(int protocol, int pid) throws IOException {
        CompletableFuture<Netlink> opened = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("network of " + pid).start(() -> {
            try {
                enter("/proc/" + pid + "/ns/net");
                opened.complete(open(protocol));
            } catch (IOException | RuntimeException e) {
                opened.completeExceptionally(e);
            }
        });
        try {
            return opened.join(); // for all who are interrupted too, or nobody would close it
        } catch (CompletionException e) {
            if (e.getCause() instanceof IOException why) {
                throw why;
            }
            throw e;
        }
    }

    private static void enter(String namespace) throws IOException {
        int file = (int) call("open " + namespace, (arena, errno) ->
                (int) OPEN.invokeExact(errno, arena.allocateFrom(namespace), O_RDONLY_CLOEXEC, 0));
        try {
            long _ = call("setns " + namespace, (_, errno) -> (int) SETNS.invokeExact(errno, file, CLONE_NEWNET));
        } finally {
            close(file);
        }
    }

    /**
     * Has all of it done, in this order.
     *
     * @throws ErrnoException if one is refused
     */
    public void ask(List<Message> requests) throws IOException {
        if (requests.isEmpty()) {
            return;
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        int acks = 0;
        for (Message request : requests) {
            sequence++;
            all.writeBytes(request.bytes(sequence));
            acks += request.wantsAck() ? 1 : 0;
        }
        send(all.toByteArray());
        int answered = 0;
        for (ByteBuffer part = receive(); part.hasRemaining(); part = receive()) {
            for (Answer answer : answers(part)) {
                if (answer.type == ERROR) {
                    int error = answer.body.getInt();
                    if (error != 0) {
                        drain();
                        throw new ErrnoException("netlink", -error);
                    }
                    answered++;
                }
            }
        }
        if (answered != acks) {
            throw new IOException("the kernel confirmed " + answered + " of " + acks + " requests");
        }
    }

    public void ask(Message... requests) throws IOException {
        ask(List.of(requests));
    }

    /**
     * What the kernel lists, or shows of one thing.
     *
     * @param fixedSize of the structure that each begins with
     * @throws ErrnoException if there is nothing to be listed, ENOENT for one
     */
    public List<Attributes> list(Message request, int fixedSize) throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            sequence++;
            send(request.bytes(sequence));
            List<Attributes> found = new ArrayList<>();
            if (listed(found, fixedSize)) {
                return found;
            }
        }
        throw new IOException("what the kernel lists changes all the time");
    }

    /** Whether it did not change meanwhile. */
    private boolean listed(List<Attributes> found, int fixedSize) throws IOException {
        boolean whole = true;
        for (ByteBuffer part = receive(); part.hasRemaining(); part = receive()) {
            for (Answer answer : answers(part)) {
                whole &= (answer.flags & INTERRUPTED) == 0;
                switch (answer.type) {
                    case DONE -> {
                        return whole;
                    }
                    case ERROR -> {
                        int error = answer.body.getInt();
                        if (error != 0) {
                            drain();
                            throw new ErrnoException("netlink", -error);
                        }
                    }
                    default -> found.add(Attributes.read(answer.body, fixedSize));
                }
            }
        }
        return whole;
    }

    private record Answer(int type, int flags, ByteBuffer body) {}

    private List<Answer> answers(ByteBuffer part) {
        List<Answer> answers = new ArrayList<>();
        while (part.remaining() >= Message.HEADER) {
            int start = part.position();
            int length = part.getInt();
            int type = Short.toUnsignedInt(part.getShort());
            int flags = Short.toUnsignedInt(part.getShort());
            if (length < Message.HEADER || start + length > part.limit()) {
                throw new IllegalStateException("the kernel sent a message of " + length + " bytes");
            }
            ByteBuffer body =
                    part.slice(start + Message.HEADER, length - Message.HEADER).order(ByteOrder.nativeOrder());
            answers.add(new Answer(type, flags, body));
            part.position(Math.min(part.limit(), start + Message.aligned(length)));
        }
        return answers;
    }

    private void send(byte[] bytes) throws IOException {
        long sent = call("send to the kernel", (arena, errno) -> {
            MemorySegment all = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            return (long) SEND.invokeExact(errno, socket, all, (long) bytes.length, 0);
        });
        if (sent != bytes.length) {
            throw new IOException("the kernel took " + sent + " of " + bytes.length + " bytes");
        }
    }

    /** Empty if there is nothing more. */
    private ByteBuffer receive() throws IOException {
        byte[] bytes = new byte[BUFFER];
        try {
            long length = call("receive from the kernel", (arena, errno) -> {
                MemorySegment buffer = arena.allocate(BUFFER);
                long n = (long) RECV.invokeExact(errno, socket, buffer, (long) BUFFER, MSG_DONTWAIT);
                MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, bytes, 0, (int) Math.max(0, n));
                return n;
            });
            return ByteBuffer.wrap(bytes, 0, (int) length).slice().order(ByteOrder.nativeOrder());
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EAGAIN) {
                return ByteBuffer.allocate(0);
            }
            throw e;
        }
    }

    private void drain() throws IOException {
        while (receive().hasRemaining()) {
            // What belongs to a request that has failed.
        }
    }

    @Override
    public void close() {
        close(socket);
    }

    private static void close(int file) {
        try {
            long _ = call("close", (_, errno) -> (int) CLOSE.invokeExact(errno, file));
        } catch (IOException e) {
            throw new IllegalStateException("a file that was opened here cannot be closed", e);
        }
    }

    private interface Native {
        long call(Arena arena, MemorySegment errno) throws Throwable;
    }

    private static long call(String what, Native function) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Libc.Errno errno = Libc.Errno.in(arena);
            long result = function.call(arena, errno.segment());
            if (result < 0) {
                throw new ErrnoException(what, errno.value());
            }
            return result;
        } catch (IOException e) {
            throw e;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
