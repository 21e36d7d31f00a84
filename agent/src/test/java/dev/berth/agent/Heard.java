package dev.berth.agent;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Remembers what an agent did, and waits for what it will do. */
public final class Heard implements AgentListener {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<AgentEvent> events = new ArrayList<>();
    private long position;
    private @Nullable SandboxException lost;

    @Override
    public synchronized void heard(AgentEvent event, long end) {
        if (end < position) {
            throw new IllegalStateException("went back from " + position + " to " + end);
        }
        events.add(event);
        position = end;
        notifyAll();
    }

    @Override
    public synchronized void lost(SandboxException why) {
        lost = why;
        notifyAll();
    }

    public synchronized List<AgentEvent> events() {
        return List.copyOf(events);
    }

    public synchronized <T extends AgentEvent> List<T> all(Class<T> kind) {
        return events.stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    public synchronized long position() {
        return position;
    }

    /** Whether a run has begun and not ended. */
    public synchronized boolean busy() {
        return all(AgentEvent.Began.class).size() > all(AgentEvent.Ended.class).size();
    }

    public synchronized String text() {
        return all(AgentEvent.Text.class).stream().map(AgentEvent.Text::delta).collect(Collectors.joining());
    }

    /** The kinds of events in their order, without pieces of text and news of tools that there may be any number of. */
    public synchronized List<String> story() {
        return events.stream()
                .filter(event -> !(event instanceof AgentEvent.Text || event instanceof AgentEvent.ToolUpdated))
                .map(event -> event.getClass().getSimpleName())
                .toList();
    }

    public AgentEvent.Ended ended() {
        return ended(1);
    }

    /** The end of the run with this number. */
    public AgentEvent.Ended ended(int number) {
        return nth(AgentEvent.Ended.class, number);
    }

    public <T extends AgentEvent> T first(Class<T> kind) {
        return nth(kind, 1);
    }

    public synchronized <T extends AgentEvent> T nth(Class<T> kind, int number) {
        await("event " + number + " of " + kind.getSimpleName(), _ -> all(kind).size() >= number);
        return all(kind).get(number - 1);
    }

    public synchronized SandboxException awaitLost() {
        await("the agent to be lost", _ -> lost != null);
        return Optional.ofNullable(lost).orElseThrow();
    }

    private synchronized void await(String what, Predicate<Heard> condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.test(this)) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new AssertionError("waited in vain for " + what + "; heard " + events + ", lost: " + lost);
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted while waiting for " + what, e);
            }
        }
    }
}
