/**
 * Secrets of tenants: values that their sandboxes use without ever having them.
 *
 * <p>A value is sealed before it is stored, never shown again, and opened for one request at a time, on its way out of a
 * sandbox to a host that it is bound to. Inside, a placeholder stands for it.
 */
@NullMarked
package dev.berth.gateway.secret;

import org.jspecify.annotations.NullMarked;
