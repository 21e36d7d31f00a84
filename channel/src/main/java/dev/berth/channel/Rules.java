package dev.berth.channel;

import dev.berth.session.SessionKey;
import java.util.Set;

/**
 * Who may do what in a workspace of a channel.
 *
 * @param tenant whose sessions its conversations are
 * @param rooms where it may be talked to; empty for everywhere
 * @param people the ids of those who may; empty for everybody
 * @param approvers the ids of those who decide about any card, besides those whose own it is
 * @param rate for each person
 */
public record Rules(String tenant, Set<String> rooms, Set<String> people, Set<String> approvers, Rate rate) {
    public static final Rules OPEN =
            new Rules(SessionKey.DEFAULT_TENANT, Set.of(), Set.of(), Set.of(), new Rate(10, 20));

    public Rules {
        rooms = Set.copyOf(rooms);
        people = Set.copyOf(people);
        approvers = Set.copyOf(approvers);
    }

    /** How many messages at once, and how many a minute after that. */
    public record Rate(int burst, int perMinute) {
        public Rate {
            if (burst < 1 || perMinute < 1) {
                throw new IllegalArgumentException("a rate has to let at least one message through");
            }
        }
    }

    boolean allow(Place place, Person person) {
        return (rooms.isEmpty() || rooms.contains(place.room())) && allow(person);
    }

    boolean allow(Person person) {
        return people.isEmpty() || people.contains(person.id());
    }
}
