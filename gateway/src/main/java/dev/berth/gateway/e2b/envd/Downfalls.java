package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.http.Departure;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.io.EOFException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Wakes those who tell what happens in a sandbox when it goes down, the server does, or nobody listens any more: they break
 * off at once.
 */
final class Downfalls implements AutoCloseable {
    private final Set<Watch> open = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** For one who tells, for as long as he does. */
    final class Watch implements AutoCloseable {
        private final Runnable wake;
        private final Departure departure;
        private volatile @Nullable Exception over;
        private Session.Watch session = () -> {};

        private Watch(Call call, Runnable wake) {
            this.wake = wake;
            this.departure = Departure.of(call.request(), () -> end(new EOFException("the client left")));
        }

        private void fall() {
            end(SandboxException.gone("the sandbox went down"));
        }

        private void end(Exception why) {
            over = why;
            wake.run();
        }

        /** @throws Call.Broken if it is over */
        void check() {
            Exception why = over;
            if (why != null) {
                throw new Call.Broken(why);
            }
        }

        @Override
        public void close() {
            open.remove(this);
            session.close();
            departure.close();
        }
    }

    /**
     * Begins, when all of the call was read.
     *
     * @param wake done on another thread when it is over, perhaps at once
     */
    Watch watch(Visit visit, Runnable wake) {
        Watch watch = new Watch(visit.call(), wake);
        open.add(watch);
        watch.session = visit.session().whenDown(watch::fall);
        watch.departure.watch();
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
