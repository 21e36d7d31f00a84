package dev.berth.channel;

import dev.berth.agent.run.Message;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import dev.berth.channel.MessageTable.Given;
import dev.berth.channel.MessageTable.Waiting;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Session;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says to agents what people wrote, with the files that came along: those of one place in their order, on a thread for
 * each place that has any. A message is written down before and after it is said; one that a server died over is looked
 * for in the session's log before it would be said again.
 */
final class Speaker {
    private static final Logger LOG = LoggerFactory.getLogger(Speaker.class);
    /** After this a person wants to hear that it does not work, rather than wait on. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static final int LOOKED_AT = 20;
    private static final int PAGE = 500;

    private final Parts parts;
    private final Deliveries deliveries;
    private final InstantSource clock;
    private final Uploads uploads;
    /** By the numbers of their messages, until those are said. */
    private final Map<Long, List<Incoming.Attachment>> attachments = new ConcurrentHashMap<>();
    /** Places that are worked on, and whether something has come since that began. */
    private final Map<Long, Boolean> places = new ConcurrentHashMap<>();

    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    Speaker(Parts parts, Deliveries deliveries, InstantSource clock) {
        this.parts = parts;
        this.deliveries = deliveries;
        this.clock = clock;
        this.uploads = new Uploads(parts);
    }

    /** To be called before the message can be seen, so that nobody says it without its files. */
    void keep(long message, List<Incoming.Attachment> files) {
        if (!files.isEmpty()) {
            attachments.put(message, files);
        }
    }

    void forget(long message) {
        attachments.remove(message);
    }

    void sweep() {
        parts.database()
                .query(handle -> {
                    MessageTable.renew(handle, parts.server(), parts.config().lease());
                    return MessageTable.claim(
                            handle,
                            parts.channels().names(),
                            parts.server(),
                            parts.config().lease());
                })
                .forEach(this::speak);
    }

    /** Says what waits in a place, on a thread of its own. */
    void speak(long place) {
        boolean working = places.merge(place, false, (_, _) -> true);
        if (working || stopped) {
            return;
        }
        Thread thread = Thread.ofVirtual().name("place " + place).unstarted(() -> work(place));
        threads.add(thread);
        thread.start();
    }

    private void work(long place) {
        try {
            do {
                places.put(place, false);
                sayAll(place);
            } while (!stopped && !places.remove(place, false));
        } catch (RuntimeException e) {
            // It is still written down, and the next sweep begins again.
            LOG.atWarn().addKeyValue("place", place).setCause(e).log("channel.say.failed");
        } finally {
            places.remove(place);
            threads.remove(Thread.currentThread());
        }
    }

    private void sayAll(long place) {
        Optional<Waiting> next = next(place);
        while (next.isPresent() && !stopped) {
            if (!say(next.get())) {
                return;
            }
            next = next(place);
        }
    }

    private Optional<Waiting> next(long place) {
        return parts.database().query(handle -> MessageTable.next(handle, place, parts.server()));
    }

    /** @return false if it has to be tried again later */
    private boolean say(Waiting message) {
        String actor = Conversations.actor(message.place().place(), message.person());
        try {
            if (message.saying()) {
                Optional<Run> said = alreadySaid(message, actor);
                if (said.isPresent()) {
                    settle(message, said.get(), message.files());
                    return true;
                }
            }
            List<Given> files = store(message, actor);
            Message words = new Message(
                    withFailures(message.text(), files),
                    paths(files),
                    actor,
                    Optional.of(message.person().name()));
            long after = parts.database()
                    .query(handle ->
                            PlaceTable.lastEvent(handle, message.place().key()));
            boolean mine = parts.database()
                    .query(handle -> MessageTable.saying(handle, message.number(), parts.server(), after));
            if (mine) {
                settle(message, parts.agents().say(message.place().key(), words), files);
            }
            return true;
        } catch (SandboxException e) {
            boolean passing = e.code() == ErrorCode.UNAVAILABLE || e.code() == ErrorCode.TIMEOUT;
            if (passing && message.receivedAt().plus(PATIENCE).isAfter(clock.instant())) {
                LOG.atInfo()
                        .addKeyValue("message", message.number())
                        .setCause(e)
                        .log("channel.say.later");
                return false;
            }
            refuse(message, e);
            return true;
        }
    }

    /** What came of it, if a server before this one has said it and did not get to write that down. */
    private Optional<Run> alreadySaid(Waiting message, String actor) {
        Instant since = message.receivedAt();
        Optional<Run> begun = parts.agents().last(message.place().key(), LOOKED_AT).stream()
                .filter(run -> run.actor().equals(actor) && run.firstEvent() > message.after())
                .filter(run -> message.after() > 0 || !run.createdAt().isBefore(since))
                .findFirst();
        return begun.isPresent() ? begun : steered(message, actor);
    }

    private Optional<Run> steered(Waiting message, String actor) {
        long after = message.after();
        List<LoggedEvent> page = events(message, after);
        while (!page.isEmpty()) {
            for (LoggedEvent event : page) {
                Optional<RunEvent> read = RunEvent.of(event);
                if (read.isPresent()
                        && read.get() instanceof RunEvent.Steered by
                        && by.actor().equals(actor)) {
                    return parts.agents().find(by.run());
                }
            }
            after = page.getLast().seq();
            page = events(message, after);
        }
        return Optional.empty();
    }

    private List<LoggedEvent> events(Waiting message, long after) {
        return parts.sessions().events().read(message.place().key(), after, PAGE);
    }

    // ---- files ---------------------------------------------------------------------------------------------------

    private List<Given> store(Waiting message, String actor) {
        if (message.files().stream().allMatch(Given::settled)) {
            return message.files();
        }
        List<Incoming.Attachment> here = attachments.getOrDefault(message.number(), List.of());
        List<Given> files = new ArrayList<>(message.files());
        try (Session session = parts.sessions()
                .resolve(
                        message.place().key(),
                        parts.choices().of(message.place().key()).spec())) {
            for (int i = 0; i < files.size(); i++) {
                Given file = files.get(i);
                if (file.settled()) {
                    continue;
                }
                files.set(
                        i,
                        i < here.size()
                                ? uploads.store(session, here.get(i), file.name(), actor)
                                : new Given(
                                        file.name(), null, "the server was restarted while it came; send it again"));
                parts.database().query(handle -> {
                    MessageTable.files(handle, message.number(), files);
                    return files;
                });
            }
        }
        return files;
    }

    private static List<String> paths(List<Given> files) {
        List<String> paths = new ArrayList<>();
        for (Given file : files) {
            if (file.path() != null) {
                paths.add(file.path());
            }
        }
        return paths;
    }

    private static List<String> failures(List<Given> files) {
        return files.stream()
                .filter(file -> file.error() != null)
                .map(file -> "- " + Plain.code(file.name(), 200) + ": " + file.error())
                .toList();
    }

    private static String withFailures(String text, List<Given> files) {
        List<String> failures = failures(files);
        return failures.isEmpty()
                ? text
                : (text + "\n\n(These files came with this message and could not be taken:\n"
                                + String.join("\n", failures) + ")")
                        .strip();
    }

    // ---- what came of it -----------------------------------------------------------------------------------------

    private void settle(Waiting message, Run run, List<Given> files) {
        Optional<DeliveryTable.Open> begun = parts.database().transaction(handle -> {
            if (!MessageTable.settled(handle, message.number(), "said")) {
                return Optional.empty();
            }
            List<String> failures = failures(files);
            if (!failures.isEmpty()) {
                NoticeTable.insert(
                        handle,
                        message.place().number(),
                        "These files could not be taken:\n" + String.join("\n", failures),
                        List.of());
            }
            return DeliveryTable.insert(
                    handle,
                    run.id(),
                    run.firstEvent(),
                    null,
                    message,
                    parts.server(),
                    parts.config().lease());
        });
        forget(message.number());
        begun.ifPresent(deliveries::start);
    }

    private void refuse(Waiting message, SandboxException e) {
        LOG.atWarn()
                .addKeyValue("tenant", message.place().key().tenant())
                .addKeyValue("session", message.place().key().id())
                .addKeyValue("error", e.getMessage())
                .log("channel.message.refused");
        Optional<DeliveryTable.Open> refused = parts.database().transaction(handle -> {
            if (!MessageTable.settled(handle, message.number(), "failed")) {
                return Optional.empty();
            }
            return DeliveryTable.insert(
                    handle,
                    "message-" + message.number(),
                    0,
                    e.getMessage(),
                    message,
                    parts.server(),
                    parts.config().lease());
        });
        forget(message.number());
        refused.ifPresent(deliveries::start);
    }

    /** Takes up nothing more. What is being said is finished, unless it takes too long. */
    void halt(Duration patience) {
        stopped = true;
        long deadline = System.nanoTime() + patience.toNanos();
        for (Thread thread : threads) {
            try {
                boolean _ = thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            thread.interrupt();
        }
    }
}
