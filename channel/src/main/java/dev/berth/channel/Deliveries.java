package dev.berth.channel;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The runs that this server shows. Those that nobody shows, as their server is gone, are taken up by the next sweep. */
final class Deliveries {
    private final Parts parts;
    private final Map<String, Delivery> showing = new ConcurrentHashMap<>();
    private volatile boolean stopped;

    Deliveries(Parts parts) {
        this.parts = parts;
    }

    void start(DeliveryTable.Open open) {
        Optional<Channel> channel = parts.channels().find(open.place().place().channel());
        if (channel.isEmpty() || stopped) {
            return; // its lease runs out, and whoever has the channel takes it
        }
        Delivery delivery = new Delivery(parts, channel.get(), open, () -> showing.remove(open.run()));
        if (showing.putIfAbsent(open.run(), delivery) == null) {
            delivery.start();
        }
    }

    void sweep() {
        parts.database()
                .query(handle -> {
                    DeliveryTable.renew(
                            handle,
                            parts.server(),
                            showing.keySet(),
                            parts.config().lease());
                    return DeliveryTable.claim(
                            handle,
                            parts.channels().names(),
                            parts.server(),
                            parts.config().lease());
                })
                .forEach(this::start);
    }

    void halt(Duration patience) {
        stopped = true;
        long deadline = System.nanoTime() + patience.toNanos();
        showing.values()
                .forEach(delivery -> delivery.halt(Duration.ofNanos(Math.max(0, deadline - System.nanoTime()))));
    }
}
