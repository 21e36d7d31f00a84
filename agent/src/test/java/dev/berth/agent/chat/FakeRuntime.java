package dev.berth.agent.chat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Began;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.Text;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A coding agent that does what a test says, and that goes on when it is let go of, as real ones do. */
final class FakeRuntime implements AgentRuntime {
    /** What it does about a message. */
    interface Behaviour {
        void told(Body process, String message) throws Exception;
    }

    private final Queue<Behaviour> script = new ConcurrentLinkedQueue<>();
    private final Queue<SandboxException> failures = new ConcurrentLinkedQueue<>();
    private final List<Station> starts = new CopyOnWriteArrayList<>();
    /** Counted down when the first one begins to come up. */
    final CountDownLatch starting = new CountDownLatch(1);

    private final CountDownLatch up = new CountDownLatch(1);
    private volatile CountDownLatch mayStart = new CountDownLatch(0);
    private volatile @Nullable Body process;

    FakeRuntime then(Behaviour behaviour) {
        script.add(behaviour);
        return this;
    }

    /** It uses one tool and reports. */
    FakeRuntime reports(String report) {
        return then((running, _) -> {
            running.emit(new Began());
            running.use("1");
            running.emit(new Text(report));
            running.emit(new Ended(Outcome.DONE, Optional.empty()));
        });
    }

    /** It works until it is stopped. */
    FakeRuntime worksUntilStopped() {
        return then((running, _) -> {
            running.emit(new Began());
            running.use("1");
            running.await(running.aborted);
            running.emit(new Ended(Outcome.ABORTED, Optional.empty()));
        });
    }

    FakeRuntime doesNotStart(SandboxException why) {
        failures.add(why);
        return this;
    }

    /** It takes until then to come up. */
    FakeRuntime startsWhen(CountDownLatch latch) {
        mayStart = latch;
        return this;
    }

    private static void await(CountDownLatch latch) {
        try {
            if (!latch.await(60, TimeUnit.SECONDS)) {
                throw new AssertionError("waited in vain");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    List<Station> starts() {
        return starts;
    }

    Body process() {
        Body running = process;
        if (running == null) {
            throw new AssertionError("no agent runs");
        }
        return running;
    }

    /** Waits until the first one is up. */
    Body comeUp() {
        await(up);
        return process();
    }

    boolean running() {
        Body running = process;
        return running != null && running.alive;
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        SandboxException failure = failures.poll();
        if (failure != null) {
            throw failure;
        }
        if (running()) {
            throw SandboxException.conflict("one runs already");
        }
        starts.add(station);
        starting.countDown();
        await(mayStart);
        Body started = new Body();
        process = started;
        up.countDown();
        return started.handle(listener, 0);
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        return running() ? Optional.of(process().handle(listener, (int) position)) : Optional.empty();
    }

    /** What is in the sandbox, whoever listens. */
    final class Body {
        private final List<AgentEvent> log = new ArrayList<>();
        private final List<String> decisions = new CopyOnWriteArrayList<>();
        private final List<String> told = new CopyOnWriteArrayList<>();
        private @Nullable Handle listening;
        private boolean busy;
        final CountDownLatch dead = new CountDownLatch(1);
        volatile boolean alive = true;
        volatile CountDownLatch aborted = new CountDownLatch(1);

        synchronized void emit(AgentEvent event) {
            busy = event instanceof Began || (busy && !(event instanceof Ended));
            log.add(event);
            if (listening != null) {
                listening.listener.heard(event, log.size());
            }
        }

        void use(String call) {
            emit(new ToolStarted(call, "bash", "Run ls", Map.of("command", "ls")));
            emit(new ToolEnded(call, true, "files"));
        }

        synchronized void die() {
            alive = false;
            dead.countDown();
            Handle last = listening;
            listening = null;
            if (last != null) {
                last.listener.lost(SandboxException.unavailable("the agent ended with status 9"));
            }
        }

        void await(CountDownLatch latch) {
            FakeRuntime.await(latch);
        }

        List<String> decisions() {
            return decisions;
        }

        List<String> told() {
            return told;
        }

        private synchronized Agent handle(AgentListener listener, int from) {
            Handle handle = new Handle(this, listener);
            for (int i = from; i < log.size(); i++) {
                listener.heard(log.get(i), i + 1);
            }
            listening = handle;
            return handle;
        }

        private void tell(String message) {
            told.add(message);
            Behaviour behaviour = script.poll();
            aborted = new CountDownLatch(1);
            Thread.ofVirtual().start(() -> {
                try {
                    if (behaviour == null) {
                        throw new AssertionError("the test has no behaviour for " + message);
                    }
                    behaviour.told(this, message);
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
        }
    }

    private static final class Handle implements Agent {
        private final Body process;
        private final AgentListener listener;

        Handle(Body process, AgentListener listener) {
            this.process = process;
            this.listener = listener;
        }

        @Override
        public String conversation() {
            return "conversation of the fake";
        }

        @Override
        public boolean busy() {
            synchronized (process) {
                return process.busy;
            }
        }

        @Override
        public boolean alive() {
            return process.alive;
        }

        @Override
        public void say(String message) {
            if (!process.alive) {
                throw SandboxException.unavailable("the agent is gone");
            }
            process.tell(message);
        }

        @Override
        public void abort() {
            process.aborted.countDown();
        }

        @Override
        public void decide(String question, boolean allowed) {
            process.decisions.add(question + "=" + allowed);
        }

        @Override
        public byte[] transcript(long from) {
            return new byte[0];
        }

        @Override
        public void end() {
            process.die();
        }

        @Override
        public void close() {
            synchronized (process) {
                if (process.listening == this) {
                    process.listening = null;
                }
            }
        }
    }
}
