package dev.berth.channel;

import dev.berth.agent.run.Choices;
import dev.berth.agent.run.Runs;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.job.Jobs;
import dev.berth.session.store.Database;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The conversations of all channels. What somebody says is written down, becomes part of a run in the session of its place,
 * and what the run does is shown there. Everything that is under way is in the database, leased by the server that does
 * it, so another one goes on with it when that one is gone.
 */
public final class Conversations implements Inbox, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Conversations.class);
    private static final int TITLE = 80;
    private static final int NAME = 80;
    private static final int LISTED = 50;
    private static final Duration KEPT = Duration.ofDays(90);
    private static final Duration FORGETTING = Duration.ofHours(1);
    private static final Duration STOPPING = Duration.ofSeconds(5);

    private static final String NOT_ALLOWED = "You may not do this here. Ask whoever runs this server.";

    private final Parts parts;
    private final Rulebook rules;
    private final Desk desk;
    private final Buckets buckets;
    private final Deliveries deliveries;
    private final Speaker speaker;
    private final Notices notices;
    private final Commands commands;
    private final ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("conversations").factory());
    /** Of the housekeeping thread alone. */
    private boolean failing;

    private Conversations(Parts parts, Rulebook rules, Desk desk, InstantSource clock, RandomGenerator random) {
        this.parts = parts;
        this.rules = rules;
        this.desk = desk;
        this.buckets = new Buckets(clock);
        this.deliveries = new Deliveries(parts);
        this.speaker = new Speaker(parts, deliveries, clock);
        this.notices = new Notices(parts);
        this.commands = new Commands(parts, random);
    }

    /** Takes up what servers before this one left, and begins to look after it. */
    public static Conversations open(
            ConversationsConfig config,
            Rulebook rules,
            Channels channels,
            Desk desk,
            Runs runs,
            Choices choices,
            Sessions sessions,
            Artifacts artifacts,
            Jobs jobs,
            Database database,
            InstantSource clock,
            RandomGenerator random) {
        return open(
                new Parts(
                        config,
                        channels,
                        Agents.of(runs),
                        choices,
                        sessions,
                        artifacts,
                        jobs,
                        database,
                        "server-" + Long.toHexString(random.nextLong())),
                rules,
                desk,
                clock,
                random);
    }

    static Conversations open(Parts parts, Rulebook rules, Desk desk, InstantSource clock, RandomGenerator random) {
        Conversations conversations = new Conversations(parts, rules, desk, clock, random);
        long sweep = parts.config().sweep().toMillis();
        var _ = conversations.housekeeping.scheduleWithFixedDelay(
                conversations::sweep, 0, sweep, TimeUnit.MILLISECONDS);
        var _ = conversations.housekeeping.scheduleWithFixedDelay(
                conversations::forget, FORGETTING.toMillis(), FORGETTING.toMillis(), TimeUnit.MILLISECONDS);
        return conversations;
    }

    /** Who somebody is to runs, logs and approvals. */
    public static String actor(Place place, Person person) {
        return place.channel() + ":" + place.workspace() + ":" + person.id();
    }

    private void sweep() {
        quietly(speaker::sweep, deliveries::sweep, notices::sweep);
    }

    private void forget() {
        quietly(() -> parts.database().query(handle -> {
            MessageTable.forget(handle, KEPT);
            DeliveryTable.forget(handle, KEPT);
            return KEPT;
        }));
    }

    /** Does all of them, whatever becomes of one. */
    private void quietly(Runnable... work) {
        boolean failed = false;
        for (Runnable one : work) {
            try {
                one.run();
            } catch (RuntimeException e) {
                // Said once: a database that is down for an hour should not fill the log with it.
                if (!failing) {
                    LOG.atWarn().setCause(e).log("channel.sweep.failed");
                }
                failed = true;
            }
        }
        failing = failed;
    }

    // ---- what people do ------------------------------------------------------------------------------------------

    @Override
    public Received message(Incoming given) {
        Incoming message = cleaned(given);
        Place place = message.place();
        Rules rule = rules.of(place.channel(), place.workspace());
        if (!rule.allow(place, message.person())) {
            return Received.NOT_ALLOWED;
        }
        // First, as what is sent twice by the service is not the person's doing.
        if (parts.database().query(handle -> MessageTable.known(handle, message))) {
            return Received.KNOWN;
        }
        if (!buckets.take(actor(place, message.person()), rule.rate())) {
            return Received.TOO_MANY;
        }
        return write(message, rule.tenant());
    }

    private Received write(Incoming message, String tenant) {
        record Written(long place, boolean first, boolean busy) {}
        AtomicLong number = new AtomicLong();
        Written written;
        try {
            written = parts.database().transaction(handle -> {
                PlaceTable.Known place =
                        PlaceTable.touch(handle, message.place(), tenant, title(message), message.person());
                boolean busy = PlaceTable.busy(handle, place.number());
                Optional<Long> inserted = MessageTable.insert(
                        handle,
                        place.number(),
                        message,
                        parts.server(),
                        parts.config().lease());
                inserted.ifPresent(it -> {
                    number.set(it);
                    speaker.keep(it, message.attachments());
                });
                return new Written(place.number(), inserted.isPresent(), busy);
            });
        } catch (RuntimeException e) {
            speaker.forget(number.get());
            throw e;
        }
        if (!written.first()) {
            return Received.KNOWN;
        }
        speaker.speak(written.place());
        return written.busy() ? Received.STEERED : Received.BEGUN;
    }

    private static Incoming cleaned(Incoming given) {
        String name = Plain.line(given.person().name(), NAME);
        return new Incoming(
                given.place(),
                new Person(given.person().id(), name.isEmpty() ? given.person().id() : name),
                given.id(),
                Plain.text(given.text()),
                given.attachments(),
                given.reply());
    }

    private static String title(Incoming message) {
        String title = Plain.line(message.text(), TITLE);
        return title.isEmpty() ? "Files from " + message.person().name() : title;
    }

    @Override
    public boolean knows(Place place) {
        return find(place).isPresent();
    }

    private Optional<PlaceTable.Known> find(Place place) {
        return parts.database().query(handle -> PlaceTable.find(handle, place));
    }

    @Override
    public boolean stop(Place place, Person person) {
        return allowed(place, person)
                && find(place)
                        .map(known -> parts.agents().abort(known.key(), actor(place, person)))
                        .orElse(false);
    }

    @Override
    public String decide(Place place, String approval, Person person, Answer answer) {
        Optional<PlaceTable.Known> known = find(place);
        if (known.isEmpty() || !allowed(place, person)) {
            return NOT_ALLOWED;
        }
        try {
            Optional<String> requester = desk.requester(known.get().key(), approval);
            if (requester.isEmpty()) {
                return "This does not wait for an answer any more.";
            }
            boolean own = requester.get().equals(actor(place, person));
            Rules rule = rules.of(place.channel(), place.workspace());
            if (!own && !rule.approvers().contains(person.id())) {
                return "Only whoever asked for this, or an approver, can decide about it.";
            }
            String name = Plain.line(person.name(), NAME);
            desk.decide(known.get().key(), approval, name.isEmpty() ? person.id() : name, answer);
            return "";
        } catch (SandboxException e) {
            return e.code() == ErrorCode.CONFLICT || e.code() == ErrorCode.NOT_FOUND
                    ? "Somebody else was quicker, or it has run out: " + e.getMessage() + "."
                    : "That did not work: " + e.getMessage() + ".";
        }
    }

    @Override
    public String command(Place place, Person person, String text) {
        if (!allowed(place, person)) {
            return NOT_ALLOWED;
        }
        // Not every service says in which thread a command was given.
        Optional<PlaceTable.Known> known = find(place)
                .or(() -> place.thread().isEmpty()
                        ? parts.database().query(handle -> PlaceTable.lastOfRoom(handle, place))
                        : Optional.empty());
        return known.map(found -> commands.run(found.key(), actor(place, person), Plain.text(text)))
                .orElse("No conversation has begun here. Send a message first.\n\n" + Commands.HELP);
    }

    private boolean allowed(Place place, Person person) {
        return rules.of(place.channel(), place.workspace()).allow(place, person);
    }

    @Override
    public List<Overview> overview(String channel, String workspace, Person person) {
        return rules.of(channel, workspace).allow(person)
                ? parts.database().query(handle -> PlaceTable.of(handle, channel, workspace, person, LISTED))
                : List.of();
    }

    // ---- the end -------------------------------------------------------------------------------------------------

    /** Lets go of everything, so that another server goes on at once. */
    @Override
    public void close() {
        halt(STOPPING);
        try {
            parts.database().query(handle -> {
                MessageTable.release(handle, parts.server());
                DeliveryTable.release(handle, parts.server());
                return parts;
            });
        } catch (SandboxException e) {
            LOG.atWarn().addKeyValue("error", e.getMessage()).log("channel.release.failed");
        }
    }

    /** Ends everything here and leaves it as it is, as if the server had died if there is no patience. */
    void halt(Duration patience) {
        housekeeping.shutdownNow();
        speaker.halt(patience);
        deliveries.halt(patience);
        notices.halt(patience);
    }
}
