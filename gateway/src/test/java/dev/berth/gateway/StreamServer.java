package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A server in a process of its own, so that its memory can be bounded and measured apart from its clients'. It says where
 * it is and a tenant's key, then takes one order a line: {@code events <session> <how many> <characters>}, {@code last
 * <session>} for the number of its last event, and {@code heap} for the bytes in use after a collection.
 */
final class StreamServer {
    private static final String TENANT = "acme";
    /** The numbers that were told last, by session. */
    private static final Map<String, Long> LAST = new HashMap<>();

    private StreamServer() {}

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws IOException {
        try (TestingBerth berth = new TestingBerth()) {
            System.out.println("READY " + berth.url() + " " + berth.tenant(TENANT));
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, UTF_8));
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                System.out.println("DONE " + obey(berth, order.split(" ")));
            }
        }
    }

    private static long obey(TestingBerth berth, String[] words) {
        return switch (words[0]) {
            case "events" -> {
                for (int i = 0; i < Integer.parseInt(words[2]); i++) {
                    String text = "x".repeat(Integer.parseInt(words[3]));
                    berth.sessions()
                            .events()
                            .append(key(words[1]), new SessionEvent("output", "test", Map.of("text", text)));
                }
                yield 0;
            }
            case "last" -> {
                long known = LAST.getOrDefault(words[1], 0L);
                List<LoggedEvent> more = berth.sessions().events().read(key(words[1]), known, Integer.MAX_VALUE);
                long last = more.isEmpty() ? known : more.getLast().seq();
                LAST.put(words[1], last);
                yield last;
            }
            case "heap" -> {
                System.gc();
                yield ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
            }
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static SessionKey key(String session) {
        return SessionKey.of(TENANT, session);
    }
}
