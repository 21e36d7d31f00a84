package dev.berth.channel;

/**
 * A conversation in a channel: a thread, or somebody's direct messages.
 *
 * @param channel the name of the channel, such as {@code slack}
 * @param workspace whose it is, as the service has it: a team, an installation
 * @param room where the conversation is: a channel of a workspace, a direct message
 * @param thread which of its conversations; empty if it has one only
 */
public record Place(String channel, String workspace, String room, String thread) {
    /** By which its session is found, now and in a year. */
    public String session() {
        String where = channel + ":" + workspace + ":" + room;
        return thread.isEmpty() ? where : where + ":" + thread;
    }
}
