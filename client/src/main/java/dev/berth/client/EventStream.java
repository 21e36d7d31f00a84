package dev.berth.client;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What happens in a session, as it happens. A lost connection is made again from the last event on, so that none is missing
 * and none comes twice. For one thread; another one may close it, which ends it.
 */
public final class EventStream implements Iterable<SessionEvent>, AutoCloseable {
    /** Three times what the server lets pass between two signs of life. */
    static final Duration SILENCE = Duration.ofSeconds(45);

    static final HttpHeaders NO_HEADERS = HttpHeaders.of(Map.of(), (name, value) -> true);

    private final BerthClient berth;
    private final Call call;
    private final boolean follow;
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile long last;
    /** Tries in a row without an event. */
    private int failures;
    /** Guarded by this, as is what becomes of it. */
    private Optional<Connection> connection = Optional.empty();

    private record Connection(SseReader reader, SilenceAlarm alarm) {
        void close() {
            alarm.close();
            try {
                reader.close();
            } catch (IOException e) {
                // It is not read any more, and there is nothing of it to lose.
            }
        }
    }

    EventStream(BerthClient berth, Call call, long after, boolean follow) {
        this.berth = berth;
        this.call = call;
        this.last = after;
        this.follow = follow;
        connect(); // so that a session that is not there is told of at once
    }

    /** The next event, waited for; empty when the session was removed, this was closed, or nothing was to be followed. */
    public Optional<SessionEvent> next() {
        while (closed.getCount() > 0) {
            try {
                Optional<SseReader.Event> event = current().next();
                if (event.isPresent()) {
                    Optional<SessionEvent> read = read(event.get());
                    if (read.isPresent()) {
                        return read;
                    }
                } else if (!follow) {
                    close();
                } else {
                    reconnect();
                }
            } catch (IOException e) {
                if (closed.getCount() > 0) {
                    reconnect();
                }
            }
        }
        return Optional.empty();
    }

    private Optional<SessionEvent> read(SseReader.Event event) throws IOException {
        Json json;
        try {
            json = Json.parse(event.data());
        } catch (IllegalArgumentException e) {
            throw new IOException(e);
        }
        if (event.name().equals("error")) {
            if (json.get("code").text().equals(BerthException.UNAVAILABLE)) {
                throw new IOException(json.get("detail").text());
            }
            close();
            throw BerthException.of((int) json.get("status").whole(), NO_HEADERS, json);
        }
        SessionEvent read = SessionEvent.of(json);
        failures = 0;
        if (read.seq() <= last) {
            return Optional.empty();
        }
        last = read.seq();
        return Optional.of(read);
    }

    /** The number of the last event; what {@link SessionClient#events} goes on after. */
    public long last() {
        return last;
    }

    private void connect() {
        InputStream body =
                berth.stream(call.header("Accept", Call.EVENTS).header("Last-Event-ID", Long.toString(last)));
        synchronized (this) {
            SilenceAlarm alarm = new SilenceAlarm(SILENCE, () -> quietly(body));
            connection = Optional.of(new Connection(new SseReader(new Heard(body, alarm)), alarm));
            if (closed.getCount() == 0) {
                connection.get().close();
            }
        }
    }

    private void reconnect() {
        synchronized (this) {
            connection.ifPresent(Connection::close);
        }
        while (closed.getCount() > 0) {
            try {
                if (failures++ > 0 && closed.await(Transport.backOff(failures).toMillis(), TimeUnit.MILLISECONDS)) {
                    return;
                }
                connect();
                return;
            } catch (BerthException e) {
                if (e.status() == 404 || e.status() == 410) {
                    close(); // the session is gone, and with it what could happen in it
                } else if (!e.is(BerthException.UNAVAILABLE) && !e.is("limit")) {
                    throw e;
                }
            } catch (InterruptedException e) {
                throw Transport.interrupted(e);
            }
        }
    }

    private synchronized SseReader current() {
        return connection.orElseThrow().reader();
    }

    private static void quietly(InputStream body) {
        try {
            body.close();
        } catch (IOException e) {
            // Whoever reads it hears of it.
        }
    }

    @Override
    public Iterator<SessionEvent> iterator() {
        return new Iterator<>() {
            private Optional<SessionEvent> ahead = Optional.empty();

            @Override
            public boolean hasNext() {
                ahead = ahead.isPresent() ? ahead : EventStream.this.next();
                return ahead.isPresent();
            }

            @Override
            public SessionEvent next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                SessionEvent event = ahead.orElseThrow();
                ahead = Optional.empty();
                return event;
            }
        };
    }

    @Override
    public void close() {
        closed.countDown();
        synchronized (this) {
            connection.ifPresent(Connection::close);
        }
    }

    /** Tells the alarm of every byte, also of those that are no event. */
    static final class Heard extends FilterInputStream {
        private final SilenceAlarm alarm;

        Heard(InputStream in, SilenceAlarm alarm) {
            super(in);
            this.alarm = alarm;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            int n = super.read(buffer, offset, length);
            alarm.heard();
            return n;
        }
    }
}
