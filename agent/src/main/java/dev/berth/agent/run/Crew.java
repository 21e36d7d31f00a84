package dev.berth.agent.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.agent.run.Choices.Choice;
import dev.berth.agent.run.PlaceTable.AgentPlace;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agents of sessions, kept from one run to the next, since starting one takes seconds. Nobody holds their sessions up
 * meanwhile: an agent sleeps with its sandbox, and wakes with it.
 */
final class Crew {
    private static final Logger LOG = LoggerFactory.getLogger(Crew.class);

    private final Office office;
    private final Map<SessionKey, Seat> seats = new ConcurrentHashMap<>();

    Crew(Office office) {
        this.office = office;
    }

    int size() {
        return seats.size();
    }

    /** The agent that works on a run already, left by a server before this one. */
    Optional<Seat> rejoin(Session session, Choice choice, String run, Scribe scribe) {
        SessionKey key = session.key();
        Optional<AgentPlace> place = place(key).filter(known -> !known.discard());
        if (place.isEmpty()) {
            return Optional.empty();
        }
        Seat seat = new Seat(key, place.get().setup(), place.get().position(), this::leave);
        seat.tell(scribe, place.get().busy());
        return attach(session, choice, run, place.get(), seat);
    }

    /** An agent for a new run: the one that is there if it fits, or another. */
    Seat join(Session session, Choice choice, String run, Scribe scribe) {
        SessionKey key = session.key();
        String setup = setup(choice);
        Optional<AgentPlace> place = place(key);
        if (place.filter(AgentPlace::discard).isPresent()) {
            discard(session, choice, run, place.get());
            place = Optional.empty();
        }
        Optional<Seat> there = Optional.ofNullable(seats.get(key));
        if (there.isPresent()
                && place.isPresent()
                && there.get().position() < place.get().position()) {
            // Another server drove it meanwhile, and what it did then was not all heard here.
            release(there.get());
            there = Optional.empty();
        }
        if (there.isEmpty() && place.isPresent()) {
            AgentPlace known = place.get();
            there = attach(session, choice, run, known, new Seat(key, known.setup(), known.position(), this::leave));
        }
        if (there.isPresent()) {
            Seat seat = there.get();
            Agent agent = seat.agent();
            if (agent.alive() && !agent.busy() && seat.setup().equals(setup)) {
                seat.tell(scribe, false);
                return seat;
            }
            drop(seat);
        }
        return start(session, choice, run, place, scribe, setup);
    }

    private Optional<AgentPlace> place(SessionKey key) {
        return office.database().query(handle -> PlaceTable.find(handle, key));
    }

    private Optional<Seat> attach(Session session, Choice choice, String run, AgentPlace place, Seat seat) {
        AgentRuntime runtime = office.runtimes().get(place.runtime());
        if (runtime == null) {
            return Optional.empty();
        }
        Station station = station(session, choice, run, Optional.of(place), place.runtime());
        try {
            Optional<Agent> agent = runtime.attach(station, place.position(), place.busy(), seat);
            agent.ifPresent(there -> {
                seat.taken(there);
                seats.put(session.key(), seat);
            });
            return agent.map(_ -> seat);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.TIMEOUT) {
                LOG.debug("an agent that did not answer was ended", e);
                return Optional.empty();
            }
            throw e;
        }
    }

    private Seat start(
            Session session, Choice choice, String run, Optional<AgentPlace> place, Scribe scribe, String setup) {
        SessionKey key = session.key();
        scribe.status("Starting " + choice.runtime());
        Seat seat = new Seat(key, setup, 0, this::leave);
        Station station = station(session, choice, run, place, choice.runtime());
        String before = place.map(AgentPlace::conversation).orElse("");
        // Before it is there, or a server that comes after would look for it at the position of another.
        office.database().query(handle -> PlaceTable.begin(handle, key, choice.runtime(), setup, before));
        long began = System.nanoTime();
        Agent agent = started(office.runtime(choice.runtime()), station, seat);
        try {
            seat.taken(agent);
            office.database()
                    .query(handle -> PlaceTable.begin(handle, key, choice.runtime(), setup, agent.conversation()));
            new KeptTranscript(office.database(), key).compare(agent);
            office.meters().started(choice.runtime(), Duration.ofNanos(System.nanoTime() - began));
            seats.put(key, seat);
            seat.tell(scribe, false);
            return seat;
        } catch (RuntimeException e) {
            drop(seat);
            throw e;
        }
    }

    /** One that nobody knows of may be there: the server that started it was killed before it was written down. */
    private Agent started(AgentRuntime runtime, Station station, Seat seat) {
        try {
            return runtime.start(station, seat);
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.CONFLICT) {
                throw e;
            }
            Seat other = new Seat(seat.key(), "", 0, this::leave);
            runtime.attach(station, 0, false, other).ifPresent(agent -> {
                other.taken(agent);
                drop(other);
            });
            return runtime.start(station, seat);
        }
    }

    private Station station(Session session, Choice choice, String run, Optional<AgentPlace> place, String runtime) {
        boolean same = place.filter(known -> known.runtime().equals(runtime)).isPresent();
        Optional<String> conversation =
                place.filter(_ -> same).map(AgentPlace::conversation).filter(name -> !name.isEmpty());
        return new Station(
                session.sandbox(),
                session.sandbox().files().named(office.config().workspace()),
                new TablePast(office.database(), session.key(), run, conversation, same || place.isEmpty()),
                choice.config());
    }

    /** Of what a choice says, that which an agent cannot be told any more when it runs. */
    private static String setup(Choice choice) {
        try {
            byte[] all = (choice.runtime() + "\n" + choice.config()).getBytes(UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(all));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Ends the agent of a session and removes what it wrote down of its conversation. */
    void discard(Session session, Choice choice, String run, AgentPlace place) {
        SessionKey key = session.key();
        Optional<Seat> there = Optional.ofNullable(seats.get(key))
                .or(() -> attach(
                        session, choice, run, place, new Seat(key, place.setup(), place.position(), this::leave)));
        there.ifPresent(this::drop);
        if (place.conversation().startsWith("/")) {
            SandboxFiles files = session.sandbox().files();
            if (files.exists(place.conversation())) {
                files.remove(place.conversation());
            }
        }
        office.database().query(handle -> PlaceTable.remove(handle, key));
    }

    /** Ends an agent that is of no more use. */
    void drop(Seat seat) {
        seats.remove(seat.key(), seat);
        seat.rest();
        Agent agent = seat.agent();
        try {
            agent.end();
        } catch (SandboxException e) {
            LOG.debug("the agent was gone already, or its sandbox", e);
        }
        agent.close();
    }

    /** Lets go of an agent, which works on. */
    void release(Seat seat) {
        seats.remove(seat.key(), seat);
        seat.agent().close();
        seat.rest();
    }

    /** The agent was lost while nobody wanted anything of it. */
    private void leave(Seat seat) {
        seats.remove(seat.key(), seat);
        seat.abandon();
    }

    Optional<Seat> there(SessionKey key) {
        return Optional.ofNullable(seats.get(key));
    }

    void close() {
        seats.values().forEach(this::release);
    }
}
