package dev.berth.channel.slack;

/** Keeps tokens from whoever can read the database. */
public interface Seal {
    /** @param place what it is sealed for; it cannot be opened for anything else */
    byte[] seal(String place, String text);

    String open(String place, byte[] sealed);
}
