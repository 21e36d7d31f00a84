package dev.berth.channel.slack;

import dev.berth.channel.ChannelException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/** The workspaces the app is in: the one of the configured token, and those that have installed it. */
final class Workspaces {
    /** Another server may have taken up a new installation, or have removed one. */
    private static final Duration FRESH = Duration.ofMinutes(1);

    private final SlackApi api;
    private final Optional<String> token;
    private final Optional<Installations> installations;
    private final Remembered<String, Optional<Workspace>> installed;
    /** Guarded by this. */
    private Optional<Workspace> own = Optional.empty();

    Workspaces(SlackApi api, Optional<String> token, Optional<Installations> installations, InstantSource clock) {
        this.api = api;
        this.token = token;
        this.installations = installations;
        this.installed = new Remembered<>(1_000, FRESH, clock);
    }

    /** Empty if the app is not there, or not any more. */
    Optional<Workspace> find(String team) throws InterruptedException {
        Optional<Workspace> one = own();
        if (one.isPresent() && one.get().team().equals(team)) {
            return one;
        }
        return installations.flatMap(rows -> installed.get(team, rows::find));
    }

    Workspace get(String team) throws InterruptedException {
        return find(team)
                .orElseThrow(() -> new ChannelException(
                        "the Slack app is not installed in the workspace " + team + "; install it there again", true));
    }

    /** Whose the configured token is. It is asked once, and not for every event. */
    synchronized Optional<Workspace> own() throws InterruptedException {
        if (own.isEmpty() && token.isPresent()) {
            JsonNode answer = api.need(new Workspace("", "", token.get()), "auth.test", Map.of());
            own = Optional.of(new Workspace(
                    answer.path("team_id").asString(""), answer.path("user_id").asString(""), token.get()));
        }
        return own;
    }

    void remove(String team) {
        installations.ifPresent(rows -> rows.remove(team));
        installed.forget(team);
    }

    void forget(String team) {
        installed.forget(team);
    }
}
