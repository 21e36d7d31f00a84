package dev.berth.agent.run;

import java.util.List;
import java.util.Optional;

/** A message in the words in which an agent hears it. */
final class Spoken {
    private Spoken() {}

    static String text(Message message) {
        return text(message.text(), message.files(), message.person());
    }

    static String text(String text, List<String> files, Optional<String> person) {
        StringBuilder spoken = new StringBuilder();
        // On one line, and without the brackets that could make a name look like somebody else's message.
        person.map(name -> name.replaceAll("[\\s\\p{Cntrl}\\[\\]]+", " ").strip())
                .filter(name -> !name.isEmpty())
                .ifPresent(name -> spoken.append('[').append(name).append("] "));
        spoken.append(text);
        if (!files.isEmpty()) {
            if (!text.isBlank()) {
                spoken.append("\n\n");
            }
            spoken.append("Files that came with this message:");
            files.forEach(file -> spoken.append("\n- ").append(file));
        }
        return spoken.toString();
    }

    /** Something that the agent has to know and no person said. */
    static String note(String note) {
        return "Note from Berth: " + note + "\n\n";
    }
}
