/**
 * The API over HTTP: who asks, what they may, and the way from a request to a session, a tool and back.
 *
 * <p>Types of the HTTP framework stay in {@code dev.berth.gateway.http}.
 */
@NullMarked
package dev.berth.gateway;

import org.jspecify.annotations.NullMarked;
