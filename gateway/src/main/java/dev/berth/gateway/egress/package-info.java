/**
 * The way out of sandboxes, as the sessions they belong to have it: what each may reach, which secrets it is given on the
 * way, and what is told of where it went.
 */
@NullMarked
package dev.berth.gateway.egress;

import org.jspecify.annotations.NullMarked;
