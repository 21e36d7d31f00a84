package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;

/** A TCP connection inside the sandbox, carried over the link. */
final class GuestConnection implements Connection {
    private final int id;
    private final boolean accepted;
    private final GuestLink link;
    private final Inflow input;
    private final Outflow output;
    private final CompletableFuture<Void> dialled = new CompletableFuture<>();
    private long received;

    private GuestConnection(int id, boolean accepted, GuestLink link) {
        this.id = id;
        this.accepted = accepted;
        this.link = link;
        this.input = new Inflow(
                0,
                Wire.STREAM_WINDOW / 2,
                offset -> link.sendQuietly(new Wire.Out(Wire.DATA_CONSUMED, id, 8).u64(offset)));
        this.output = new Outflow(link.carriedWindow(), new Outflow.Sink() {
            @Override
            public void send(byte[] bytes, int offset, int length) throws IOException {
                link.send(Wire.DATA_TO_GUEST, id, bytes, offset, length);
            }

            @Override
            public void end() throws IOException {
                link.send(new Wire.Out(Wire.DATA_END_TO_GUEST, id, 0));
            }
        });
    }

    /** One that the guest is asked for. */
    static GuestConnection dialled(int id, GuestLink link) {
        return new GuestConnection(id, false, link);
    }

    /** One that a program inside has made. The guest counts it until it is told CLOSE, so that is said in any case. */
    static GuestConnection accepted(int id, GuestLink link) {
        return new GuestConnection(id, true, link);
    }

    int id() {
        return id;
    }

    CompletableFuture<Void> dialled() {
        return dialled;
    }

    /** Called by the link's thread alone. */
    void handle(Wire.In frame) throws ProtocolException {
        switch (frame.type) {
            case Wire.DIALED -> dialled.complete(null);
            case Wire.DATA -> {
                int length = frame.rest().remaining();
                input.receive(received, frame.rest());
                received += length;
            }
            case Wire.DATA_END -> input.end(received);
            case Wire.DATA_TAKEN -> output.taken(frame.u64());
            case Wire.CLOSED -> {
                int errno = frame.u32();
                if (errno == 0) {
                    input.end(received);
                    output.broken();
                } else {
                    fail(SandboxException.unavailable("the connection inside the sandbox broke: "
                            + dev.berth.sandbox.local.linux.ErrnoException.describe(errno)));
                }
                if (!accepted) {
                    link.forget(id, this);
                }
            }
            default -> throw new ProtocolException("frame " + frame.type + " is not for a connection");
        }
    }

    void fail(SandboxException why) {
        dialled.completeExceptionally(why);
        input.fail(why);
        output.fail(why);
    }

    @Override
    public InputStream input() {
        return input;
    }

    @Override
    public OutputStream output() {
        return output;
    }

    @Override
    public void close() {
        input.close();
        output.broken();
        if (link.forget(id, this)) {
            link.sendQuietly(new Wire.Out(Wire.CLOSE, id, 0));
        }
    }
}
