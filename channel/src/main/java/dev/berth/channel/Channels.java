package dev.berth.channel;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The channels of this server, by their names. One that comes later takes up what was left for it. */
public final class Channels {
    private final Map<String, Channel> byName = new ConcurrentHashMap<>();

    public void add(Channel channel) {
        if (byName.putIfAbsent(channel.name(), channel) != null) {
            throw new IllegalArgumentException("there are two channels named " + channel.name());
        }
    }

    Optional<Channel> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    Set<String> names() {
        return Set.copyOf(byName.keySet());
    }
}
