package dev.berth.agent.chat;

/** Text made fit for those who read it. */
final class Words {
    private Words() {}

    /** Its beginning and its end, if it is too long. */
    static String cut(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int end = most / 4;
        return text.substring(0, most - end)
                + "\n[" + (text.length() - most) + " characters are left out here]\n"
                + text.substring(text.length() - end);
    }

    /** One line of it. */
    static String line(String text, int most) {
        String line = text.strip().replaceAll("[\\p{Cntrl}\\s]+", " ");
        return line.length() > most ? line.substring(0, most) + "…" : line;
    }
}
