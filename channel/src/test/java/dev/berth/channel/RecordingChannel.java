package dev.berth.channel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/** A channel that remembers what it was given. It can be made to take its time, and to fail. */
public final class RecordingChannel implements Channel {
    /** One board that was shown. */
    public record Shown(Place place, String reply, Board board, String memo) {}

    /** Something that was said beside runs. */
    public record Said(Place place, String text, List<Board.Shown> files) {}

    private final String name;
    private final List<Shown> shown = new ArrayList<>();
    private final List<Said> said = new ArrayList<>();
    private final Deque<RuntimeException> failures = new ArrayDeque<>();
    private boolean held;

    public RecordingChannel(String name) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String show(Place place, String reply, Board board, Files files, String memo) throws InterruptedException {
        synchronized (this) {
            while (held) {
                wait();
            }
            fail();
            shown.add(new Shown(place, reply, board, memo));
            return "memo-" + shown.size();
        }
    }

    @Override
    public void notice(Place place, String text, List<Board.Shown> files, Files contents) {
        synchronized (this) {
            fail();
            said.add(new Said(place, text, files));
        }
    }

    private void fail() {
        RuntimeException failure = failures.poll();
        if (failure != null) {
            throw failure;
        }
    }

    /** What the next calls end with, each with one of them. */
    public synchronized void failWith(RuntimeException... next) {
        failures.addAll(List.of(next));
    }

    /** Makes every board wait until it is told to go on. */
    public synchronized void hold() {
        held = true;
    }

    public synchronized void goOn() {
        held = false;
        notifyAll();
    }

    public synchronized List<Shown> shown() {
        return List.copyOf(shown);
    }

    public synchronized List<Said> said() {
        return List.copyOf(said);
    }

    /** The last board of a place. */
    public Optional<Board> board(Place place) {
        return shown().stream()
                .filter(one -> one.place().equals(place))
                .map(Shown::board)
                .reduce((_, last) -> last);
    }

    /** Boards of a place that were the end of their run. */
    public List<Board> ends(Place place) {
        return shown().stream()
                .filter(one -> one.place().equals(place))
                .map(Shown::board)
                .filter(board -> board.end().isPresent())
                .toList();
    }

    @Override
    public void close() {}
}
