package dev.berth.tool;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Finds in a stream what an interpreter's driver says about a call, and passes on what the call printed.
 *
 * <p>The driver writes {@code NUL mark <} where a call begins and {@code NUL mark >} where it ends, on stdout followed by
 * one line. The mark is random and new for each call, so nothing that code prints can be taken for it by accident. A NUL
 * is nowhere in a mark, so a mismatch can only begin anew at the byte that did not match. Used by one thread.
 */
final class FrameScanner implements Execution.Sink {
    /** Above the longest result there is, with all of it escaped. */
    private static final int LONGEST_LINE = 8 << 20;

    private enum State {
        BEFORE,
        INSIDE,
        LINE,
        AFTER
    }

    private final byte[] begin;
    private final byte[] end;
    private final boolean line;
    private final Execution.Sink sink;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private State state;
    private int matched;

    /**
     * @param begun whether what comes before any mark is the call's
     * @param line whether a line follows the end
     */
    FrameScanner(String mark, boolean begun, boolean line, Execution.Sink sink) {
        this.begin = ("\0" + mark + "<").getBytes(StandardCharsets.US_ASCII);
        this.end = ("\0" + mark + ">").getBytes(StandardCharsets.US_ASCII);
        this.line = line;
        this.sink = sink;
        this.state = begun ? State.INSIDE : State.BEFORE;
    }

    boolean begun() {
        return state != State.BEFORE;
    }

    boolean ended() {
        return state == State.AFTER;
    }

    /** The line after the end. */
    Optional<String> said() {
        return ended() && line ? Optional.of(said.toString(StandardCharsets.UTF_8)) : Optional.empty();
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        int until = offset + length;
        int at = offset;
        while (at < until) {
            at = switch (state) {
                case BEFORE -> search(begin, bytes, at, until);
                case INSIDE -> search(end, bytes, at, until);
                case LINE -> readLine(bytes, at, until);
                case AFTER -> {
                    // A program goes on after its last line of code: with what it does at its exit, or in its threads.
                    sink.write(bytes, at, until - at);
                    yield until;
                }
            };
        }
    }

    /** To be called when nothing comes any more: what looked like a mark was none. */
    void flush() {
        if (state == State.INSIDE) {
            sink.write(end, 0, matched);
        }
        matched = 0;
    }

    private int search(byte[] mark, byte[] bytes, int from, int until) {
        int passed = from;
        for (int at = from; at < until; at++) {
            if (bytes[at] == mark[matched]) {
                if (matched == 0) {
                    pass(bytes, passed, at);
                }
                matched++;
                if (matched == mark.length) {
                    matched = 0;
                    advance();
                    return at + 1;
                }
                passed = at + 1;
            } else if (matched > 0) {
                pass(mark, 0, matched);
                matched = 0;
                passed = at;
                at--; // it may be the first byte of the mark
            }
        }
        if (matched == 0) {
            pass(bytes, passed, until);
        }
        return until;
    }

    private void pass(byte[] bytes, int from, int until) {
        if (state == State.INSIDE && until > from) {
            sink.write(bytes, from, until - from);
        }
    }

    private void advance() {
        state = switch (state) {
            case BEFORE -> State.INSIDE;
            case INSIDE -> line ? State.LINE : State.AFTER;
            case LINE, AFTER -> State.AFTER;
        };
    }

    private int readLine(byte[] bytes, int from, int until) {
        for (int at = from; at < until; at++) {
            if (bytes[at] == '\n') {
                advance();
                return at + 1;
            }
            if (said.size() < LONGEST_LINE) {
                said.write(bytes[at]);
            }
        }
        return until;
    }
}
