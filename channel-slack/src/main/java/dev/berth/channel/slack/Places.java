package dev.berth.channel.slack;

import dev.berth.channel.Place;

/**
 * Which conversation something in Slack belongs to: a thread is one, wherever it is, and so are all of somebody's direct
 * messages that are in no thread.
 */
final class Places {
    static final String DIRECT = "dm";

    private Places() {}

    static Place of(String team, String channel, String thread, String user) {
        return Spot.direct(channel) && thread.isEmpty()
                ? new Place(SlackChannel.NAME, team, DIRECT, user)
                : new Place(SlackChannel.NAME, team, channel, thread);
    }
}
