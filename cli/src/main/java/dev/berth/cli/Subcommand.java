package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;

/** One of the things that {@code berth} does. */
interface Subcommand {
    Syntax syntax();

    /** Does it and returns the exit code. */
    int run(Arguments arguments, Console console);
}
