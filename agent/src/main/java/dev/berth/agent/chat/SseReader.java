package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes server-sent events apart, as the HTML standard says ("9.2.6 Interpreting an event stream"), and only as far as
 * models use them: an event is its data. What is too long is refused, as a server may be anybody's.
 */
final class SseReader {
    private static final int LONGEST = 1 << 20;

    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final StringBuilder data = new StringBuilder();
    private boolean hasData;
    private boolean afterReturn;

    /** The data of the events that are complete with this. */
    List<String> take(byte[] piece) throws ModelException {
        List<String> events = new ArrayList<>();
        for (byte next : piece) {
            if (next == '\n' && afterReturn) {
                afterReturn = false;
            } else if (next == '\n' || next == '\r') {
                afterReturn = next == '\r';
                endLine(events);
            } else {
                afterReturn = false;
                line.write(next);
                if (line.size() > LONGEST) {
                    throw tooLong();
                }
            }
        }
        return events;
    }

    /** What is left when nothing more comes: many a server forgets the empty line after its last event. */
    List<String> end() throws ModelException {
        List<String> events = new ArrayList<>();
        endLine(events);
        endEvent(events);
        return events;
    }

    private void endLine(List<String> events) throws ModelException {
        String text = line.toString(UTF_8);
        line.reset();
        if (text.isEmpty()) {
            endEvent(events);
        } else if (text.startsWith("data:")) {
            if (hasData) {
                data.append('\n');
            }
            hasData = true;
            data.append(text, text.startsWith("data: ") ? 6 : 5, text.length());
            if (data.length() > LONGEST) {
                throw tooLong();
            }
        }
    }

    private void endEvent(List<String> events) {
        if (hasData) {
            events.add(data.toString());
            data.setLength(0);
            hasData = false;
        }
    }

    private static ModelException tooLong() {
        return new ModelException(
                ModelException.Kind.LASTING, "the model's server sent a line of more than " + LONGEST + " bytes");
    }
}
