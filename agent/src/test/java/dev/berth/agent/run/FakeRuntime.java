package dev.berth.agent.run;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Began;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.Text;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Past;
import dev.berth.agent.Station;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Agents that do what a test told them to, one piece of work a run. They live in here and not in whoever speaks to them, as
 * real ones live in their sandboxes: a server that goes away leaves them working, and another attaches to them.
 */
final class FakeRuntime implements AgentRuntime {
    /** What an agent does about a message. */
    interface Work {
        void about(String message, Life life) throws InterruptedException;
    }

    private final Map<SandboxId, Life> lives = new ConcurrentHashMap<>();
    private final Map<SandboxId, Queue<Work>> scripts = new ConcurrentHashMap<>();
    private final Map<SandboxId, Queue<SandboxException>> failures = new ConcurrentHashMap<>();
    private final Map<SandboxId, List<Past>> starts = new ConcurrentHashMap<>();

    /** What it does about the next messages; when there is nothing more it repeats what it hears. */
    void will(SandboxId sandbox, Work... work) {
        scripts.computeIfAbsent(sandbox, _ -> new ConcurrentLinkedQueue<>()).addAll(Arrays.asList(work));
    }

    void failsToStart(SandboxId sandbox, SandboxException... why) {
        failures.computeIfAbsent(sandbox, _ -> new ConcurrentLinkedQueue<>()).addAll(Arrays.asList(why));
    }

    /** What it was given each time it was started. */
    List<Past> starts(SandboxId sandbox) {
        return starts.computeIfAbsent(sandbox, _ -> new CopyOnWriteArrayList<>());
    }

    Optional<Life> life(SandboxId sandbox) {
        return Optional.ofNullable(lives.get(sandbox));
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        SandboxId sandbox = station.sandbox().id();
        SandboxException failure =
                failures.getOrDefault(sandbox, new ConcurrentLinkedQueue<>()).poll();
        if (failure != null) {
            throw failure;
        }
        starts(sandbox).add(station.past());
        Life life = new Life(sandbox);
        life.transcript = station.past().transcript().orElse(life.transcript);
        if (lives.putIfAbsent(sandbox, life) != null) {
            throw SandboxException.conflict("one runs already");
        }
        return new Line(life, 0, listener);
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        return life(station.sandbox().id()).map(life -> {
            Line line = new Line(life, position, listener);
            line.awaitCaughtUp();
            return line;
        });
    }

    /** One agent, from its start to its end. */
    final class Life {
        private final SandboxId sandbox;
        private final List<AgentEvent> events = new ArrayList<>();
        private final List<String> heard = new ArrayList<>();
        private final List<String> queued = new ArrayList<>();
        private final Map<String, Boolean> decided = new ConcurrentHashMap<>();
        private @Nullable Thread working;
        private Ended ending = new Ended(Outcome.DONE, Optional.empty());
        private byte[] transcript = {};
        private boolean deaf;
        private boolean dead;

        private Life(SandboxId sandbox) {
            this.sandbox = sandbox;
        }

        /** Tells something. */
        synchronized Life does(AgentEvent event) {
            if (!dead) {
                events.add(event);
                notifyAll();
            }
            return this;
        }

        synchronized Life says(String text) {
            return does(new Text(text));
        }

        synchronized Life uses(String call) {
            return does(new AgentEvent.ToolStarted(call, "bash", "uses " + call, Map.of("command", call)))
                    .does(new AgentEvent.ToolEnded(call, true, "did " + call));
        }

        synchronized void writes(String lines) {
            byte[] more = lines.getBytes(java.nio.charset.StandardCharsets.UTF_8);
            byte[] all = Arrays.copyOf(transcript, transcript.length + more.length);
            System.arraycopy(more, 0, all, transcript.length, more.length);
            transcript = all;
            does(new AgentEvent.Noted());
        }

        /** Its run ends with this. */
        synchronized void fails(String why) {
            ending = new Ended(Outcome.FAILED, Optional.of(why));
        }

        synchronized void dies() {
            dead = true;
            lives.remove(sandbox, this);
            if (working != null) {
                working.interrupt();
            }
            notifyAll();
        }

        /** Does not end when it is told to stop. */
        synchronized void ignoresAborts() {
            deaf = true;
        }

        /** What it was told so far. */
        synchronized List<String> heard() {
            return List.copyOf(heard);
        }

        /** Waits for a message that steers it. */
        synchronized String steered() throws InterruptedException {
            while (queued.isEmpty()) {
                wait();
            }
            return queued.removeFirst();
        }

        synchronized boolean decision(String question) throws InterruptedException {
            while (!decided.containsKey(question)) {
                wait();
            }
            return decided.getOrDefault(question, false);
        }

        private synchronized void take(String message) {
            if (dead) {
                throw SandboxException.unavailable("the agent is gone");
            }
            heard.add(message);
            if (working == null) {
                Work work = scripts.getOrDefault(sandbox, new ConcurrentLinkedQueue<>())
                        .poll();
                working = Thread.ofVirtual().start(() -> work(message, work));
            } else {
                queued.add(message);
                notifyAll();
            }
        }

        private void work(String message, @Nullable Work work) {
            boolean aborted = false;
            try {
                if (work == null) {
                    does(new Began()).says("You said: " + message);
                } else {
                    work.about(message, this);
                }
            } catch (InterruptedException e) {
                aborted = true;
            }
            synchronized (this) {
                working = null;
                queued.clear();
                does(aborted ? new Ended(Outcome.ABORTED, Optional.empty()) : ending);
            }
        }

        private synchronized void abort() {
            if (working != null && !deaf) {
                working.interrupt();
            }
        }

        private synchronized void decide(String question, boolean allowed) {
            decided.put(question, allowed);
            notifyAll();
        }
    }

    /** One who speaks to an agent. */
    private static final class Line implements Agent {
        private final Life life;
        private final AgentListener listener;
        private final Thread reader;
        private long position;
        private boolean closed;

        Line(Life life, long position, AgentListener listener) {
            this.life = life;
            this.position = position;
            this.listener = listener;
            this.reader = Thread.ofVirtual().start(this::read);
        }

        private void read() {
            while (true) {
                AgentEvent event;
                long end;
                synchronized (life) {
                    while (!closed && !life.dead && position >= life.events.size()) {
                        try {
                            life.wait();
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                    if (closed) {
                        return;
                    }
                    if (position >= life.events.size()) {
                        break;
                    }
                    event = life.events.get((int) position);
                    end = position + 1;
                }
                listener.heard(event, end);
                synchronized (life) {
                    position = end;
                    life.notifyAll();
                }
            }
            listener.lost(SandboxException.unavailable("the agent ended with status 1"));
        }

        private void awaitCaughtUp() {
            synchronized (life) {
                while (!life.dead && position < life.events.size()) {
                    try {
                        life.wait();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                        return;
                    }
                }
            }
        }

        @Override
        public String conversation() {
            return "conversation of " + life.sandbox;
        }

        @Override
        public boolean busy() {
            synchronized (life) {
                return life.working != null;
            }
        }

        @Override
        public boolean alive() {
            synchronized (life) {
                return !life.dead;
            }
        }

        @Override
        public void say(String message) {
            life.take(message);
        }

        @Override
        public void abort() {
            life.abort();
        }

        @Override
        public void decide(String question, boolean allowed) {
            life.decide(question, allowed);
        }

        @Override
        public byte[] transcript(long from) {
            synchronized (life) {
                return from >= life.transcript.length
                        ? new byte[0]
                        : Arrays.copyOfRange(life.transcript, (int) from, life.transcript.length);
            }
        }

        @Override
        public void end() {
            life.dies();
        }

        @Override
        public void close() {
            synchronized (life) {
                closed = true;
                life.notifyAll();
            }
            if (!reader.equals(Thread.currentThread())) {
                try {
                    reader.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}
