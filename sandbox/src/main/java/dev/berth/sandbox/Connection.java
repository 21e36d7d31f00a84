package dev.berth.sandbox;

import java.io.InputStream;
import java.io.OutputStream;

/** A two-way stream of bytes to a port inside a sandbox. Closing {@link #output()} is a half-close. */
public interface Connection extends AutoCloseable {
    InputStream input();

    OutputStream output();

    @Override
    void close();
}
