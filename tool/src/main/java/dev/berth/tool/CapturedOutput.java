package dev.berth.tool;

import dev.berth.session.SessionKey;
import dev.berth.tool.OutputStore.Stream;
import java.util.Optional;

/** Both streams of a call, and the output in the store if they have become too long for a result. */
final class CapturedOutput implements AutoCloseable {
    private final OutputStore store;
    private final SessionKey session;
    private final Capture stdout;
    private final Capture stderr;

    /** Guarded by this: the streams are read by a thread each. */
    private Optional<OutputStore.Writing> writing = Optional.empty();

    CapturedOutput(OutputStore store, SessionKey session, int limit, OutputTap tap) {
        this.store = store;
        this.session = session;
        this.stdout = capture(Stream.STDOUT, limit, tap);
        this.stderr = capture(Stream.STDERR, limit, tap);
    }

    private Capture capture(Stream stream, int limit, OutputTap tap) {
        return new Capture(
                limit,
                (bytes, offset, length) -> writing().write(stream, bytes, offset, length),
                (bytes, offset, length) -> tap.output(stream, bytes, offset, length));
    }

    private synchronized OutputStore.Writing writing() {
        OutputStore.Writing begun = writing.orElseGet(() -> store.begin(session));
        writing = Optional.of(begun);
        return begun;
    }

    Capture stdout() {
        return stdout;
    }

    Capture stderr() {
        return stderr;
    }

    /** To be called when both have ended: an output that is kept has both streams, also the one that was not cut. */
    void complete() {
        if (!stdout.exact() || !stderr.exact()) {
            for (Capture capture : new Capture[] {stdout, stderr}) {
                if (!capture.cut()) {
                    capture.spoolAll();
                }
            }
        }
    }

    boolean cut() {
        return stdout.cut() || stderr.cut();
    }

    synchronized Optional<String> id() {
        return writing.map(OutputStore.Writing::id);
    }

    String stdoutText() {
        return stdout.text(missing(stdout, Stream.STDOUT));
    }

    String stderrText() {
        return stderr.text(missing(stderr, Stream.STDERR));
    }

    private synchronized String missing(Capture capture, Stream stream) {
        if (writing.isEmpty()) {
            return "";
        }
        long kept = writing.get().kept(stream);
        String id = writing.get().id();
        if (kept == capture.total()) {
            return "all of it can be read with output id " + id;
        }
        return "the first " + kept + " bytes can be read with output id " + id + ", the rest was not kept";
    }

    @Override
    public synchronized void close() {
        writing.ifPresent(OutputStore.Writing::close);
    }
}
