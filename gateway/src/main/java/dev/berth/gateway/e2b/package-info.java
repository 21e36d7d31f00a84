/**
 * What E2B's own clients speak, as a thin facade: routes, shapes and errors are translated here, and everything that is done
 * is done by sessions and sandboxes. An E2B sandbox is a session whose channel is {@code e2b}.
 */
@NullMarked
package dev.berth.gateway.e2b;

import org.jspecify.annotations.NullMarked;
