package dev.berth.sandbox.local;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * An outlet that is told later where it leads. A server that starts again takes up its sandboxes first, and programs in
 * them have been waiting for it: a moment more is better than being turned away.
 */
final class LateOutlet implements Outlet {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final CountDownLatch told = new CountDownLatch(1);
    private volatile Outlet outlet = (_, _) -> {};

    void set(Outlet newOutlet) {
        outlet = newOutlet;
        told.countDown();
    }

    @Override
    public void take(Sandbox sandbox, Connection connection) {
        try {
            if (told.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                outlet.take(sandbox, connection);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
