/**
 * Reads command lines: options are declared as values, and the same declaration parses and prints help. There is no
 * reflection, so that a command starts as fast as the JVM does. Knows nothing of what Berth's commands do.
 */
@NullMarked
package dev.berth.cli.args;

import org.jspecify.annotations.NullMarked;
