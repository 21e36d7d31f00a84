package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Wakes those who tell what happens in a sandbox when it goes down, or the server does: they break off at once. */
final class Downfalls implements AutoCloseable {
    private final Set<Watch> open = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** For one who tells, for as long as he does. */
    final class Watch implements AutoCloseable {
        private final Runnable wake;
        private volatile boolean down;
        private Session.Watch session = () -> {};

        private Watch(Runnable wake) {
            this.wake = wake;
        }

        private void fall() {
            down = true;
            wake.run();
        }

        /** @throws Call.Broken if it is down */
        void check() {
            if (down) {
                throw new Call.Broken(SandboxException.gone("the sandbox went down"));
            }
        }

        @Override
        public void close() {
            open.remove(this);
            session.close();
        }
    }

    /** @param wake done on another thread when it goes down, perhaps at once */
    Watch watch(Session session, Runnable wake) {
        Watch watch = new Watch(wake);
        open.add(watch);
        watch.session = session.whenDown(watch::fall);
        if (closed) {
            watch.fall();
        }
        return watch;
    }

    @Override
    public void close() {
        closed = true;
        open.forEach(Watch::fall);
    }
}
