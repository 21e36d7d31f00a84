package dev.berth.channel.slack;

import dev.berth.channel.Inbox;
import dev.berth.channel.Incoming;
import dev.berth.channel.Person;
import dev.berth.channel.Place;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** An inbox that writes down what it is told, and answers what a test wants. */
final class ScriptedInbox implements Inbox {
    private final FakeSlack slack;
    private final List<Incoming> messages = new ArrayList<>();
    private final List<String> told = new ArrayList<>();
    private final Set<String> ids = new HashSet<>();
    private int repeated;
    volatile Function<Incoming, Received> receive = _ -> Received.BEGUN;
    volatile String answer = "";
    volatile boolean stops = true;
    volatile List<Overview> overview = List.of();

    ScriptedInbox(FakeSlack slack) {
        this.slack = slack;
    }

    @Override
    public Received message(Incoming message) {
        Received received = receive.apply(message);
        synchronized (slack) {
            boolean known = !ids.add(message.id());
            if (known) {
                repeated++;
                received = Received.KNOWN;
            } else {
                messages.add(message);
            }
            slack.notifyAll();
        }
        return received;
    }

    @Override
    public boolean knows(Place place) {
        synchronized (slack) {
            return messages.stream().anyMatch(message -> message.place().equals(place));
        }
    }

    @Override
    public boolean stop(Place place, Person person) {
        tell("stop " + place.session() + " " + person.name());
        return stops;
    }

    @Override
    public String decide(Place place, String approval, Person person, Answer decision) {
        tell(decision + " " + approval + " " + place.session() + " " + person.name());
        return answer;
    }

    @Override
    public String command(Place place, Person person, String text) {
        tell("command " + place.session() + " " + person.name() + " " + text);
        return answer;
    }

    @Override
    public List<Overview> overview(String channel, String workspace, Person person) {
        return overview;
    }

    private void tell(String what) {
        synchronized (slack) {
            told.add(what);
            slack.notifyAll();
        }
    }

    List<Incoming> messages() {
        synchronized (slack) {
            return List.copyOf(messages);
        }
    }

    Incoming awaitMessage(int number) {
        return slack.await(this::messages, all -> all.size() >= number).get(number - 1);
    }

    void awaitRepeated(int times) {
        slack.await(() -> repeated, count -> count >= times);
    }

    String awaitTold() {
        return slack.await(() -> List.copyOf(told), all -> !all.isEmpty()).getLast();
    }
}
