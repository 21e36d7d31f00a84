/**
 * Coding agents that run inside a session's sandbox, and the runs they do there.
 *
 * <p>A runtime knows how one kind of agent is started and spoken to. Everything else, from a run's row to the event a
 * person sees, is the same for all of them.
 */
@NullMarked
package dev.berth.agent;

import org.jspecify.annotations.NullMarked;
