/**
 * Terminals of sessions: shells on a pseudo-terminal that people join and leave. The process belongs to the sandbox, what
 * it showed last is kept here for those who come, and nobody who watches can slow it down.
 */
@NullMarked
package dev.berth.gateway.terminal;

import org.jspecify.annotations.NullMarked;
