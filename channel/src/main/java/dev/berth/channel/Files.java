package dev.berth.channel;

import java.io.InputStream;

/** What is in the files that a {@link Board} has. */
public interface Files {
    /** To be closed. */
    InputStream open(Board.Shown file);
}
