/**
 * What answers port 49983 of a sandbox. In E2B's sandboxes a daemon of theirs listens there, for commands, terminals and
 * files; in ours nothing does: the server answers in its place, and has sessions and sandboxes do what is asked.
 */
@NullMarked
package dev.berth.gateway.e2b.envd;

import org.jspecify.annotations.NullMarked;
