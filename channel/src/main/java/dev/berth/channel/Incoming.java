package dev.berth.channel;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * A message that somebody wrote.
 *
 * @param id by which the service tells it from others; one that comes twice is the same message
 * @param reply what the channel needs to know to show what comes of it, such as the message that is answered
 */
public record Incoming(Place place, Person person, String id, String text, List<Attachment> attachments, String reply) {
    /** A file that came with it. It is fetched once, when the session is up. */
    public interface Attachment {
        /** What the person calls it: anything at all. */
        String name();

        /** As the service says; what really comes is counted. */
        long size();

        InputStream open() throws IOException;
    }
}
