package dev.berth.cli.config;

import dev.berth.cli.args.UsageException;
import java.util.List;

/**
 * A variable of another program that asks for what Berth has not. Ignoring it would be a lie, so it is refused when it is
 * true.
 *
 * @param why the sentence it is refused with
 */
record Foreign(String variable, String why) {
    static final List<Foreign> ALL = List.of(
            new Foreign("SANDBOX_GPU_ENABLED", "sandboxes have no GPU"),
            new Foreign("SANDBOX_GPU_NETWORK_ENABLED", "sandboxes have no GPU"));

    void check(String value) {
        if (Types.truth(value)) {
            throw new UsageException(why + "; unset it, or set it to false");
        }
    }
}
