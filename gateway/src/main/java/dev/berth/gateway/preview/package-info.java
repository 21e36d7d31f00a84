/**
 * Ports of sessions, seen from outside: HTTP and whatever it is upgraded to, passed on to what listens in the sandbox.
 * What comes from there is hostile, and so is what comes from the other side.
 */
@NullMarked
package dev.berth.gateway.preview;

import org.jspecify.annotations.NullMarked;
