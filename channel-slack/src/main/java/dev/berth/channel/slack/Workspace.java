package dev.berth.channel.slack;

/**
 * A workspace the app is in.
 *
 * @param botUser who the app is there
 */
record Workspace(String team, String botUser, String token) {
    @Override
    public String toString() {
        return team;
    }
}
