package dev.berth.channel;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.sandbox.SandboxException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Agents that say what they hear, after they have looked at it. One that is told to wait goes on at the next message. */
final class EchoRuntime implements AgentRuntime {
    static final String WAIT = "wait for me";

    @Override
    public String name() {
        return "echo";
    }

    @Override
    public Agent start(Station station, AgentListener listener) {
        return new Echo(listener);
    }

    @Override
    public Optional<Agent> attach(Station station, long position, boolean busy, AgentListener listener) {
        return Optional.empty();
    }

    private static final class Echo implements Agent {
        private final AgentListener listener;
        private final AtomicLong position = new AtomicLong();
        private final AtomicBoolean busy = new AtomicBoolean();
        private final AtomicBoolean alive = new AtomicBoolean(true);
        /** Tells one thing after the other. */
        private final ExecutorService voice =
                Executors.newSingleThreadExecutor(Thread.ofVirtual().factory());

        Echo(AgentListener listener) {
            this.listener = listener;
        }

        private void tell(AgentEvent event) {
            listener.heard(event, position.incrementAndGet());
        }

        @Override
        public void say(String message) {
            if (!alive.get()) {
                throw SandboxException.unavailable("it is gone");
            }
            boolean first = busy.compareAndSet(false, true);
            voice.execute(() -> {
                if (first) {
                    tell(new AgentEvent.Began());
                }
                tell(new AgentEvent.ToolStarted("look", "look", "Looking", Map.of()));
                tell(new AgentEvent.ToolEnded("look", true, "seen"));
                tell(new AgentEvent.Text("Heard: " + message));
                if (!message.contains(WAIT)) {
                    busy.set(false);
                    tell(new AgentEvent.Ended(Outcome.DONE, Optional.empty()));
                }
            });
        }

        @Override
        public void abort() {
            voice.execute(() -> {
                if (busy.compareAndSet(true, false)) {
                    tell(new AgentEvent.Ended(Outcome.ABORTED, Optional.empty()));
                }
            });
        }

        @Override
        public String conversation() {
            return "echo";
        }

        @Override
        public boolean busy() {
            return busy.get();
        }

        @Override
        public boolean alive() {
            return alive.get();
        }

        @Override
        public void decide(String question, boolean allowed) {}

        @Override
        public byte[] transcript(long from) {
            return new byte[0];
        }

        @Override
        public void end() {
            alive.set(false);
        }

        @Override
        public void close() {
            voice.shutdownNow();
        }
    }
}
