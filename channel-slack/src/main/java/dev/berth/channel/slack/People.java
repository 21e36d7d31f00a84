package dev.berth.channel.slack;

import dev.berth.channel.ChannelException;
import dev.berth.channel.Person;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/** What people are called. */
final class People {
    private static final Logger LOG = LoggerFactory.getLogger(People.class);

    private final SlackApi api;
    private final Remembered<String, String> names;

    People(SlackApi api, InstantSource clock) {
        this.api = api;
        this.names = new Remembered<>(10_000, Duration.ofHours(1), clock);
    }

    Person of(Workspace workspace, String user) throws InterruptedException {
        return new Person(user, name(workspace, user));
    }

    String name(Workspace workspace, String user) throws InterruptedException {
        String key = workspace.team() + "/" + user;
        @Nullable String known = names.peek(key);
        if (known != null) {
            return known;
        }
        String name;
        try {
            name = read(api.need(workspace, "users.info", Map.of("user", user)).path("user"), user);
        } catch (ChannelException e) {
            LOG.info("could not look up the name of {}", user, e);
            return user;
        }
        names.put(key, name);
        return name;
    }

    private static String read(JsonNode user, String otherwise) {
        JsonNode profile = user.path("profile");
        return Stream.of(
                        profile.path("display_name"),
                        profile.path("real_name"),
                        user.path("real_name"),
                        user.path("name"))
                .map(name -> name.asString("").strip())
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElse(otherwise);
    }
}
