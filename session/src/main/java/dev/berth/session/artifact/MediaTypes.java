package dev.berth.session.artifact;

/** Tells the media type of a file by its path and its first bytes. */
public interface MediaTypes {
    String of(String path, byte[] head);
}
