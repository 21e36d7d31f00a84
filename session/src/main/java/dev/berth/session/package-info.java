/**
 * The durable tie between a conversation and its computer.
 *
 * <p>A <em>session</em> is a row in PostgreSQL and, most of the time, a sandbox at a provider. {@link
 * dev.berth.session.Sessions} brings the two together whatever has failed in between, and moves idle ones out of the way.
 * This package sees providers only through {@code dev.berth.sandbox}.
 */
@NullMarked
package dev.berth.session;

import org.jspecify.annotations.NullMarked;
