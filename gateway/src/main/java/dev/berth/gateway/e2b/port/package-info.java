/**
 * Ports of sandboxes under names of their own, {@code 8080-ixyz.domain}, passed on to what listens there. Whoever knows a
 * name may use it, unless the sandbox was made for those who have its token only.
 */
@NullMarked
package dev.berth.gateway.e2b.port;

import org.jspecify.annotations.NullMarked;
