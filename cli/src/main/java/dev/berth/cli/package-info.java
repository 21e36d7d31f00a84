/**
 * The berth command: reads arguments, wires the product together, and shows what comes back. It is the only place where
 * the object graph is built ({@link dev.berth.cli.Wiring}) and where errors become exit codes.
 */
@NullMarked
package dev.berth.cli;

import org.jspecify.annotations.NullMarked;
