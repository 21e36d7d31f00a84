/** Agents behind sandbox-agent, a server inside the sandbox that speaks HTTP for them. */
@NullMarked
package dev.berth.agent.sandboxagent;

import org.jspecify.annotations.NullMarked;
