package dev.berth.cli.args;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a command takes, declared once: {@link #parse} reads by it and {@link #help} shows it.
 *
 * @param name with its group, such as {@code template build}
 * @param summary one sentence
 * @param synopsis what comes after the name, one line for each form
 * @param operands how many operands it takes
 * @param options in the order in which help shows them
 * @param footer lines below the options: examples, and what else has to be said
 */
public record Syntax(
        String name,
        String summary,
        List<String> synopsis,
        Operands operands,
        List<Option<?>> options,
        List<String> footer) {

    public static final Option<Boolean> HELP = Option.flag("-h, --help", "Show this.");

    /**
     * How many operands there may be, and whether the first one ends the options, so that what follows is left to a
     * command that has options of its own.
     */
    public record Operands(int least, int most, boolean endOptions) {
        public static final Operands NONE = new Operands(0, 0, false);
    }

    public Syntax {
        synopsis = List.copyOf(synopsis);
        options = List.copyOf(options);
        footer = List.copyOf(footer);
    }

    public Arguments parse(List<String> words) {
        Map<Option<?>, List<String>> values = new LinkedHashMap<>();
        List<String> rest = new ArrayList<>();
        boolean dashes = false;
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            if (word.equals("--")) {
                dashes = rest.isEmpty();
                rest.addAll(words.subList(i + 1, words.size()));
                break;
            } else if (word.equals("-") || !word.startsWith("-")) {
                if (operands.endOptions()) {
                    rest.addAll(words.subList(i, words.size()));
                    break;
                }
                rest.add(word);
            } else if (isCluster(word)) {
                word.chars().skip(1).forEach(letter -> put(values, option("-" + (char) letter), ""));
            } else {
                int equals = word.startsWith("--") ? word.indexOf('=') : -1;
                Option<?> option = option(equals < 0 ? word : word.substring(0, equals));
                if (option.isFlag() && equals >= 0) {
                    throw new UsageException(word.substring(0, equals) + " takes no value");
                } else if (option.isFlag()) {
                    put(values, option, "");
                } else if (equals >= 0) {
                    put(values, option, word.substring(equals + 1));
                } else if (++i < words.size()) {
                    put(values, option, words.get(i));
                } else {
                    throw new UsageException(word + " needs a value: " + option.label());
                }
            }
        }
        if (!values.containsKey(HELP)) {
            checkCount(rest);
        }
        return new Arguments(values, rest, dashes);
    }

    /** {@code -it} is {@code -i -t}, if all of them are flags. */
    private boolean isCluster(String word) {
        return !word.startsWith("--")
                && word.length() > 2
                && word.chars()
                        .skip(1)
                        .allMatch(letter -> option("-" + (char) letter).isFlag());
    }

    private Option<?> option(String name) {
        if (HELP.names().contains(name)) {
            return HELP;
        }
        return options.stream()
                .filter(option -> option.names().contains(name))
                .findFirst()
                .orElseThrow(() -> new UsageException("there is no option " + name
                        + Nearest.to(name, longNames())
                                .map(near -> " (did you mean " + near + "?)")
                                .orElse("")));
    }

    private List<String> longNames() {
        return options.stream()
                .flatMap(option -> option.names().stream())
                .filter(name -> name.startsWith("--"))
                .toList();
    }

    private static void put(Map<Option<?>, List<String>> values, Option<?> option, String text) {
        option.read(text); // so that what is wrong is said before anything is done
        values.computeIfAbsent(option, key -> new ArrayList<>()).add(text);
    }

    private void checkCount(List<String> rest) {
        if (rest.size() > operands.most()) {
            throw new UsageException("'" + rest.get(operands.most()) + "' is too much");
        } else if (rest.size() < operands.least()) {
            throw new UsageException("too little was said; it is 'berth " + name + " " + synopsis.getFirst() + "'");
        }
    }

    public String help() {
        StringBuilder help = new StringBuilder();
        String usage = "Usage: ";
        for (String form : synopsis) {
            help.append(usage).append(("berth " + name + " " + form).strip()).append('\n');
            usage = "       ";
        }
        help.append('\n').append(summary).append("\n\nOptions:\n");
        List<Option<?>> shown = new ArrayList<>(options);
        shown.add(HELP);
        int width =
                shown.stream().mapToInt(option -> option.form().length()).max().orElse(0);
        for (Option<?> option : shown) {
            help.append("  ").append(option.form());
            help.repeat(' ', width - option.form().length() + 2)
                    .append(option.description())
                    .append('\n');
        }
        if (!footer.isEmpty()) {
            help.append('\n').append(String.join("\n", footer)).append('\n');
        }
        return help.toString();
    }
}
