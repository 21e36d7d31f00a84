package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * How long a stream may last, and how long it may be silent. A client that vanished without a word is noticed
 * only by writing to it, so something is written now and then even if it did not ask for that. For one thread.
 */
final class Terms {
    /** Of silence, whatever the client asked for. */
    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(15);

    private final Optional<Duration> timeout;
    private final Duration silence;
    private final LongSupplier nanoTime;
    private final long began;
    private long spokeAt;

    Terms(Optional<Duration> timeout, Duration silence, LongSupplier nanoTime) {
        this.timeout = timeout;
        this.silence = silence;
        this.nanoTime = nanoTime;
        this.began = nanoTime.getAsLong();
        this.spokeAt = began;
    }

    static Terms of(Call call) {
        return of(call.header("Connect-Timeout-Ms"), call.header("Keepalive-Ping-Interval"), System::nanoTime);
    }

    /** @throws ConnectError if the timeout is not a number of at most ten digits, as the protocol has it */
    static Terms of(Optional<String> timeoutMs, Optional<String> keepaliveSeconds, LongSupplier nanoTime) {
        Optional<Duration> timeout = timeoutMs
                .filter(text -> !text.isEmpty())
                .map(text -> {
                    if (!text.matches("[0-9]{1,10}")) {
                        throw ConnectError.invalid("protocol error: invalid timeout '" + text + "'");
                    }
                    return Duration.ofMillis(Long.parseLong(text));
                })
                .filter(Duration::isPositive);
        Duration silence = keepaliveSeconds
                .filter(text -> text.matches("[0-9]{1,9}"))
                .map(text -> Duration.ofSeconds(Long.parseLong(text)))
                .filter(asked -> asked.isPositive() && asked.compareTo(LONGEST_SILENCE) < 0)
                .orElse(LONGEST_SILENCE);
        return new Terms(timeout, silence, nanoTime);
    }

    /** From the beginning. */
    Optional<Duration> timeout() {
        return timeout;
    }

    /** Something was written. */
    void spoke() {
        spokeAt = nanoTime.getAsLong();
    }

    /** How long to wait for something to write before looking at this again. */
    Duration patience() {
        Duration quiet = silence.minusNanos(nanoTime.getAsLong() - spokeAt);
        Duration left = timeout.map(whole -> whole.minusNanos(nanoTime.getAsLong() - began))
                .filter(rest -> rest.compareTo(quiet) < 0)
                .orElse(quiet);
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** @throws ConnectError if the time is over */
    void check() {
        if (timeout.isPresent() && nanoTime.getAsLong() - began >= timeout.get().toNanos()) {
            throw expired();
        }
    }

    static ConnectError expired() {
        return new ConnectError(ConnectCode.DEADLINE_EXCEEDED, "context deadline exceeded");
    }

    /** Whether it has been silent for so long that something should be written. */
    boolean silent() {
        return nanoTime.getAsLong() - spokeAt >= silence.toNanos();
    }
}
