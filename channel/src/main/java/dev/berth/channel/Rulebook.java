package dev.berth.channel;

/** The rules of every workspace. */
public interface Rulebook {
    Rules of(String channel, String workspace);
}
