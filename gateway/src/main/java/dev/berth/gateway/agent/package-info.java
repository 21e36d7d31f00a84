/** Coding agents of sessions, for those who talk to them: prompts and runs, which agent it is, and what it may do. */
@NullMarked
package dev.berth.gateway.agent;

import org.jspecify.annotations.NullMarked;
