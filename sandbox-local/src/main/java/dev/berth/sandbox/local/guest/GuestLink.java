package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Uninterrupted;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server's end of the connection to one sandbox's guest.
 *
 * <p>The guest dials, so a link listens, for as long as it is open. Whoever connects has to present the sandbox's token;
 * then that connection replaces the one before, if any. One virtual thread reads a connection and hands frames to the
 * commands and connections they belong to; those never make it wait, because what the guest may send is bounded by
 * credit. Any thread writes, one at a time.
 *
 * <p>Commands live through a lost connection: when the guest is back, the link subscribes again from where each stopped.
 * They end with the link: {@link #close} fails all that are open.
 *
 * <p>Everything that comes in is hostile. A frame out of bounds, for an id of the wrong kind, or beyond its credit closes
 * the connection. Frames for ids that are gone are ignored, since they may have crossed on the way.
 */
public final class GuestLink implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GuestLink.class);
    /** Connections that have not shown a token yet; more are turned away. */
    private static final int STRANGERS = 4;

    /** More than usual: the fewer times a writer finds it full, the fewer times it has to be woken. */
    private static final int SOCKET_BUFFER = 512 * 1024;

    private static final long HANDSHAKE_SECONDS = 10;
    private static final int UNTRUSTED = 0;
    private static final Duration REPLY_PATIENCE = Duration.ofSeconds(30);

    private final String name;
    private final Path socket;
    private final byte[] token;
    private final ServerSocketChannel listener;
    private final Semaphore strangers = new Semaphore(STRANGERS);
    private final AtomicBoolean strangersSeen = new AtomicBoolean();
    private final Map<Integer, GuestCommand> commands = new ConcurrentHashMap<>();
    private final Map<Integer, GuestConnection> connections = new ConcurrentHashMap<>();
    private final AtomicInteger nextId = new AtomicInteger(1);
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private final ReentrantLock writing = new ReentrantLock();
    private final ReentrantLock listing = new ReentrantLock();
    /** Held while a frame is dealt with, so that none of a connection is after the next one was taken on. */
    private final ReentrantLock dispatching = new ReentrantLock();

    private final Listening listening;

    private volatile @Nullable SocketChannel current;
    private volatile int version = Wire.VERSION;
    private volatile long writeBegan;
    private volatile CompletableFuture<List<Listed>> listed = new CompletableFuture<>();
    private volatile long heardAt = System.nanoTime();
    private volatile long askedAt;
    private volatile Runnable onLost = () -> {};
    private volatile boolean closed;

    private GuestLink(
            String name,
            Path socket,
            String token,
            ServerSocketChannel listener,
            int port,
            Consumer<Connection> taker) {
        this.name = name;
        this.socket = socket;
        this.token = token.getBytes(StandardCharsets.UTF_8);
        this.listener = listener;
        this.listening = new Listening(name, this, port, taker);
    }

    /**
     * Listens on a socket, taking the place of one that a dead server left.
     *
     * @param port what the guest is to listen on inside, see {@link #port}
     * @param taker called for each connection that a program inside makes to that port, on a virtual thread of its own;
     *     the connection is closed when it returns
     */
    public static GuestLink listen(String name, Path socket, String token, int port, Consumer<Connection> taker)
            throws IOException {
        Files.deleteIfExists(socket);
        ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(socket));
        GuestLink link = new GuestLink(name, socket, token, listener, port, taker);
        Thread.ofVirtual().name("guest-accept-" + name).start(link::acceptAll);
        return link;
    }

    /** What to do, on the link's thread, when the guest's connection is lost. */
    public void onLost(Runnable action) {
        onLost = action;
    }

    /** Done when the guest has connected for the first time. */
    public CompletableFuture<Void> ready() {
        return ready;
    }

    public boolean connected() {
        return current != null;
    }

    /** Whether a guest may still connect. */
    public boolean listening() {
        return !closed;
    }

    /** Whether nothing has been started or attached that is still held by a caller. */
    public boolean idle() {
        return commands.isEmpty() && connections.isEmpty();
    }

    public RunningCommand start(Start start, Supplier<Set<Limit>> limitsHit) {
        int id = nextId.getAndIncrement();
        GuestCommand command = new GuestCommand(id, this, 0, 0, Math.min(start.ring(), Inflow.WINDOW) / 2, limitsHit);
        commands.put(id, command);
        try {
            send(start.frame(id));
            await(command.started(), "the guest did not start the command");
            return command;
        } catch (IOException e) {
            commands.remove(id);
            throw SandboxException.unavailable("could not reach the sandbox's guest", e);
        } catch (SandboxException e) {
            commands.remove(id);
            throw e;
        }
    }

    public RunningCommand attach(int id, long stdoutFrom, long stderrFrom, Supplier<Set<Limit>> limitsHit) {
        // Output may still be on its way to whoever was attached before. It would be taken for the new one's, so it is
        // stopped first; when the list is there, all of it has come.
        sendQuietly(GuestCommand.silence(id, stdoutFrom, stderrFrom));
        Listed found = list().stream()
                .filter(l -> l.info().id() == id)
                .findFirst()
                .orElseThrow(() -> SandboxException.notFound("the sandbox has no command " + id));
        GuestCommand command = new GuestCommand(id, this, stdoutFrom, stderrFrom, Inflow.SMALLEST_STEP, limitsHit);
        command.attached(found.info().pid(), found.stdinTaken(), found.stdinReceived());
        GuestCommand before = commands.put(id, command);
        if (before != null) {
            before.fail(SandboxException.conflict("somebody else attached to the command"));
        }
        try {
            send(command.subscription());
        } catch (IOException e) {
            commands.remove(id, command);
            throw SandboxException.unavailable("could not reach the sandbox's guest", e);
        }
        return command;
    }

    public List<CommandInfo> commands() {
        return list().stream().map(Listed::info).toList();
    }

    public Connection dial(int port) {
        int id = nextId.getAndIncrement();
        GuestConnection connection = GuestConnection.dialled(id, this);
        connections.put(id, connection);
        try {
            send(new Wire.Out(Wire.DIAL, id, 2).u16(port));
            await(connection.dialled(), "port " + port + " did not answer");
            return connection;
        } catch (IOException e) {
            connection.close();
            throw SandboxException.unavailable("could not reach the sandbox's guest", e);
        } catch (SandboxException e) {
            connection.close();
            throw e;
        }
    }

    /**
     * Has the guest listen on a port of the loopback inside from now on, also when it connects again; 0 ends that. What
     * was accepted on another port is cut off. Returns when it is so, unless the guest is frozen or not there.
     *
     * @throws SandboxException {@code conflict} if a program has the port
     */
    public void port(int port, boolean frozen) {
        listening.change(port, frozen);
    }

    /** Ends the connections that were accepted up to now. */
    public void cut() {
        listening.cut();
    }

    /**
     * Asks a guest that has something to do but has been silent whether it is there; to be called every few seconds. One
     * that does not answer for all of its patience, or does not read what is sent, is given up: what waits for it fails. A kernel of
     * its own, such as gVisor's, can hang as a whole, and then not even a command's timeout fires inside.
     */
    public void lookAfter(Duration silence, Duration patience) {
        long now = System.nanoTime();
        long began = writeBegan;
        boolean stuck = began != 0 && now - began > patience.toNanos();
        if (current == null || (idle() && began == 0)) {
            askedAt = 0;
            return;
        }
        if (askedAt != 0 && heardAt - askedAt > 0) {
            askedAt = 0;
        }
        if (stuck || (askedAt != 0 && now - askedAt > patience.toNanos())) {
            giveUp();
        } else if (askedAt == 0 && now - heardAt > silence.toNanos()) {
            askedAt = now;
            Thread.startVirtualThread(() -> sendQuietly(new Wire.Out(Wire.PING, 0, 0)));
        }
    }

    /** It was frozen and goes on: its silence meanwhile means nothing. */
    public void thawed() {
        askedAt = 0;
        heardAt = System.nanoTime();
        if (writeBegan != 0) {
            writeBegan = System.nanoTime();
        }
        listening.thawed();
    }

    private void giveUp() {
        LOG.warn("sandbox {}: its guest does not answer; giving up what waits for it", name);
        askedAt = 0;
        SandboxException why = SandboxException.unavailable(
                "the sandbox does not answer; stop it and wake it again, its files are kept");
        commands.values().forEach(c -> c.fail(why));
        connections.values().forEach(c -> c.fail(why));
        commands.clear();
        connections.clear();
        drop(current);
    }

    @Override
    public void close() {
        close(SandboxException.gone("the sandbox was stopped"));
    }

    /** Stops listening and fails everything that is still open. */
    public void close(SandboxException why) {
        closed = true;
        closeQuietly(listener);
        drop(current);
        commands.values().forEach(c -> c.fail(why));
        connections.values().forEach(c -> c.fail(why));
        commands.clear();
        connections.clear();
        listening.close(why);
        listed.completeExceptionally(why);
        ready.completeExceptionally(why);
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            LOG.debug("sandbox {}: could not remove its socket", name, e);
        }
    }

    /** Stops serving but leaves sandbox and commands as they are, for whoever serves them next. */
    public void leave() {
        close(SandboxException.unavailable("the server is shutting down; the command goes on"));
    }

    /** Only its own place: somebody else may have attached to the same command since. */
    void forget(GuestCommand command) {
        commands.remove(command.id(), command);
    }

    /** False if there is one of that id. */
    boolean add(GuestConnection connection) {
        return connections.putIfAbsent(connection.id(), connection) == null;
    }

    boolean forget(int id, GuestConnection connection) {
        return connections.remove(id, connection);
    }

    void send(Wire.Out frame) throws IOException {
        send(frame.done());
    }

    /** Sends a frame with a payload that need not be copied for it. */
    void send(int type, int id, byte[] bytes, int offset, int length) throws IOException {
        send(Wire.header(type, id, length), ByteBuffer.wrap(bytes, offset, length));
    }

    private void send(ByteBuffer... parts) throws IOException {
        writing.lock();
        try {
            SocketChannel channel = current;
            if (channel == null) {
                throw new ClosedChannelException();
            }
            writeBegan = System.nanoTime();
            // A channel closes when a thread writes that is interrupted, and this one is everybody's.
            Uninterrupted.run(() -> {
                while (parts[parts.length - 1].hasRemaining()) {
                    channel.write(parts);
                }
            });
        } finally {
            writeBegan = 0;
            writing.unlock();
        }
    }

    /** Whether the guest that is there knows LISTEN. */
    boolean canListen() {
        return version > Wire.OLDEST_VERSION;
    }

    /** How much data of a connection the guest that is there takes before any of it is read. */
    int carriedWindow() {
        return version > Wire.OLDEST_VERSION ? Wire.CARRIED_WINDOW : Wire.STREAM_WINDOW;
    }

    /** Tells the guest the port that is wanted now: of two that do so at the same time the last tells the latest. */
    void tellPort() {
        writing.lock();
        try {
            if (canListen()) {
                sendQuietly(listening.wanted());
            }
        } finally {
            writing.unlock();
        }
    }

    /** For what does not matter if the guest is gone: it will be told again, or need not know. */
    void sendQuietly(Wire.Out frame) {
        try {
            send(frame);
        } catch (IOException e) {
            LOG.debug("sandbox {}: a frame was not sent, its guest is gone", name, e);
        }
    }

    static SandboxException unwrap(ExecutionException e) {
        return e.getCause() instanceof SandboxException known
                ? new SandboxException(known.code(), known.getMessage(), known)
                : SandboxException.unavailable("the guest failed", e);
    }

    <T> T await(CompletableFuture<T> future, String late) {
        try {
            return future.get(REPLY_PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new SandboxException(ErrorCode.TIMEOUT, late + " within " + REPLY_PATIENCE.toSeconds() + " s", e);
        } catch (ExecutionException e) {
            throw unwrap(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the guest", e);
        }
    }

    private void acceptAll() {
        while (!closed) {
            try {
                SocketChannel channel = listener.accept();
                if (strangers.tryAcquire()) {
                    Thread.ofVirtual().name("guest-link-" + name).start(() -> serve(channel));
                } else {
                    channel.close();
                }
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("sandbox {}: could not accept a connection", name, e);
            }
        }
    }

    private void serve(SocketChannel channel) {
        FrameReader reader = new FrameReader(channel);
        boolean trusted = false;
        try {
            int spoken;
            try {
                spoken = handshake(channel, reader);
            } finally {
                strangers.release();
            }
            trusted = spoken != UNTRUSTED;
            if (!trusted) {
                return;
            }
            adopt(channel, spoken);
            while (true) {
                Wire.In frame = reader.next(idle());
                if (frame == null) {
                    return;
                }
                heardAt = System.nanoTime();
                if (!dispatch(channel, frame)) {
                    return;
                }
            }
        } catch (ProtocolException e) {
            LOG.warn("sandbox {}: closing a connection that broke the protocol: {}", name, e.getMessage());
        } catch (IOException e) {
            LOG.debug("sandbox {}: connection lost", name, e);
        } finally {
            drop(channel);
            if (trusted && !closed) {
                onLost.run();
            }
        }
    }

    /**
     * Returns the version that the guest speaks, or {@link #UNTRUSTED}. Nobody else reads this channel, so a deadline can
     * only be kept by closing it from outside.
     */
    private int handshake(SocketChannel channel, FrameReader reader) throws IOException {
        CompletableFuture<Void> done = new CompletableFuture<>();
        CompletableFuture<Void> watched = done.orTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS)
                .exceptionally(late -> {
                    closeQuietly(channel);
                    return null;
                });
        try {
            Wire.In hello = reader.next(true);
            if (hello == null || hello.type != Wire.HELLO) {
                return UNTRUSTED;
            }
            int spoken = hello.u16();
            byte[] presented = hello.string().getBytes(StandardCharsets.UTF_8);
            if (!MessageDigest.isEqual(presented, token) || spoken < Wire.OLDEST_VERSION || spoken > Wire.VERSION) {
                // Once: whoever is inside can do this as often as it likes.
                if (strangersSeen.compareAndSet(false, true)) {
                    LOG.warn("sandbox {}: turned away a connection without the right token", name);
                }
                return UNTRUSTED;
            }
            hello.string();
            int lowest = hello.u32();
            nextId.accumulateAndGet(lowest, Math::max);
            return spoken;
        } finally {
            done.complete(null);
            watched.join();
        }
    }

    private void adopt(SocketChannel channel, int spoken) throws IOException {
        boolean again = ready.isDone();
        channel.setOption(StandardSocketOptions.SO_SNDBUF, SOCKET_BUFFER);
        drop(current); // and with it whoever is stuck in writing to it
        // WELCOME goes before anything else, see PROTOCOL.md: a guest that reads a command first breaks off, and the
        // command is lost. After a restart of the server somebody always waits with one.
        writing.lock();
        try {
            drop(current);
            version = spoken;
            current = channel;
            send(new Wire.Out(Wire.WELCOME, 0, 2).u16(spoken));
            // Before any command: it may listen for a server that was there before, or have to for its first program.
            if (canListen()) {
                send(listening.wanted());
            } else if (listening.wantsPort()) {
                LOG.warn(
                        "sandbox {}: was started before this version, and has no network until it is woken anew", name);
            }
        } finally {
            writing.unlock();
        }
        if (again) {
            SandboxException lost = SandboxException.unavailable("the sandbox's guest connected anew");
            dispatching.lock();
            try {
                connections.values().forEach(c -> c.fail(lost));
                connections.clear();
            } finally {
                dispatching.unlock();
            }
            for (GuestCommand command : commands.values()) {
                command.reconnected();
                send(command.subscription());
            }
        }
        ready.complete(null);
    }

    /** False if another connection has taken the place of this one. */
    private boolean dispatch(SocketChannel channel, Wire.In frame) throws ProtocolException {
        dispatching.lock();
        try {
            if (!channel.equals(current)) {
                return false;
            }
            dispatch(frame);
            return true;
        } finally {
            dispatching.unlock();
        }
    }

    private void dispatch(Wire.In frame) throws ProtocolException {
        switch (frame.type) {
            case Wire.REFUSED -> refused(frame.id, frame.u8(), frame.u32());
            case Wire.PROCESSES -> listed.complete(Listed.all(frame));
            case Wire.PONG -> LOG.trace("sandbox {}: its guest is there", name);
            case Wire.LISTENING -> listening.answered(frame.u16(), frame.u32());
            case Wire.ACCEPTED -> listening.take(frame.id);
            case Wire.DIALED, Wire.DATA, Wire.DATA_END, Wire.CLOSED, Wire.DATA_TAKEN -> {
                GuestConnection connection = connections.get(frame.id);
                if (connection != null) {
                    connection.handle(frame);
                }
            }
            case Wire.STARTED, Wire.OUTPUT, Wire.OUTPUT_END, Wire.EXITED, Wire.STDIN_TAKEN, Wire.STDIN_BROKEN -> {
                GuestCommand command = commands.get(frame.id);
                if (command != null) {
                    command.handle(frame);
                }
            }
            default -> throw new ProtocolException("unknown frame " + frame.type);
        }
    }

    private void refused(int id, int stage, int errno) {
        SandboxException why = Refusal.of(stage, errno);
        GuestCommand command = commands.remove(id);
        if (command != null) {
            command.fail(why);
        }
        GuestConnection connection = connections.remove(id);
        if (connection != null) {
            connection.fail(why);
        }
    }

    private List<Listed> list() {
        listing.lock();
        try {
            listed = new CompletableFuture<>();
            send(new Wire.Out(Wire.LIST, 0, 0));
            return await(listed, "the guest did not list its commands");
        } catch (IOException e) {
            throw SandboxException.unavailable("could not reach the sandbox's guest", e);
        } finally {
            listing.unlock();
        }
    }

    private void drop(@Nullable SocketChannel channel) {
        if (channel != null) {
            closeQuietly(channel);
            if (channel.equals(current)) {
                current = null;
            }
        }
    }

    private static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            LOG.debug("closing failed", e);
        }
    }
}
