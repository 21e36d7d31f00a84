/** The coding agent pi, spoken to by its RPC mode over pipes. */
@NullMarked
package dev.berth.agent.pi;

import org.jspecify.annotations.NullMarked;
