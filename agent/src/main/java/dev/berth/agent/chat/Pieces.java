package dev.berth.agent.chat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The body of a response as it comes, for a reader who waits for so long and no longer, and who can be told to stop. */
final class Pieces implements Flow.Subscriber<List<ByteBuffer>>, AutoCloseable {
    private sealed interface Piece {
        record Bytes(byte[] bytes) implements Piece {}

        record Failed(String why) implements Piece {}

        record End() implements Piece {}

        record Closed() implements Piece {}
    }

    /** A piece is asked for when the one before was taken, so there is one at most; then its end, and the reader's. */
    private final BlockingQueue<Piece> queue = new ArrayBlockingQueue<>(4);

    private volatile Flow.@Nullable Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
        subscription = given;
        given.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        byte[] bytes = new byte[buffers.stream().mapToInt(ByteBuffer::remaining).sum()];
        int at = 0;
        for (ByteBuffer buffer : buffers) {
            int length = buffer.remaining();
            buffer.get(bytes, at, length);
            at += length;
        }
        queue.add(new Piece.Bytes(bytes));
    }

    @Override
    public void onError(Throwable why) {
        queue.add(new Piece.Failed(String.valueOf(why.getMessage())));
    }

    @Override
    public void onComplete() {
        queue.add(new Piece.End());
    }

    /** The next piece; empty when nothing more comes, or when this was closed. */
    Optional<byte[]> next(Duration patience) throws IOException, TimeoutException {
        try {
            return switch (queue.poll(Math.max(0, patience.toMillis()), TimeUnit.MILLISECONDS)) {
                case Piece.Bytes piece -> {
                    Flow.Subscription given = subscription;
                    if (given != null) {
                        given.request(1);
                    }
                    yield Optional.of(piece.bytes);
                }
                case Piece.Failed piece -> throw new IOException(piece.why);
                case Piece.End _, Piece.Closed _ -> Optional.empty();
                case null -> throw new TimeoutException();
            };
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    @Override
    public void close() {
        Flow.Subscription given = subscription;
        if (given != null) {
            given.cancel();
        }
        // If it is full, the reader has enough to come to an end by.
        boolean _ = queue.offer(new Piece.Closed());
    }
}
