/**
 * Named sandbox configurations of a tenant: what a computer is made like, and what the calls in it may do.
 *
 * <p>Variables are sealed before they are stored and never shown again.
 */
@NullMarked
package dev.berth.gateway.config;

import org.jspecify.annotations.NullMarked;
