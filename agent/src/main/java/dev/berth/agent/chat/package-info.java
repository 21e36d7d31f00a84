/** A model that talks by itself, and has a coding agent in the sandbox for what needs doing. */
@NullMarked
package dev.berth.agent.chat;

import org.jspecify.annotations.NullMarked;
