package dev.berth.cli.args;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A command line that was read and found right. */
public final class Arguments {
    private final Map<Option<?>, List<String>> values;
    private final List<String> operands;
    private final boolean afterDashes;

    Arguments(Map<Option<?>, List<String>> values, List<String> operands, boolean afterDashes) {
        this.values = Map.copyOf(values);
        this.operands = List.copyOf(operands);
        this.afterDashes = afterDashes;
    }

    /** The value of an option; the last one, if it was given more than once. */
    public <T> Optional<T> get(Option<T> option) {
        List<T> all = all(option);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast());
    }

    /** All values of an option that may be given more than once, in the order given. */
    public <T> List<T> all(Option<T> option) {
        return values.getOrDefault(option, List.of()).stream().map(option::read).toList();
    }

    public boolean has(Option<Boolean> flag) {
        return values.containsKey(flag);
    }

    /** What is no option. */
    public List<String> operands() {
        return operands;
    }

    /** Whether the operands came after {@code --}. */
    public boolean afterDashes() {
        return afterDashes;
    }
}
