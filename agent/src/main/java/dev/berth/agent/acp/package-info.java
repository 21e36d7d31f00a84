/** Coding agents that speak the Agent Client Protocol, such as OpenCode. */
@NullMarked
package dev.berth.agent.acp;

import org.jspecify.annotations.NullMarked;
