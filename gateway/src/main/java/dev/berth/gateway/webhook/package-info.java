/** Tells addresses of tenants what happened: signed, at least once, under an id that stays the same. */
@NullMarked
package dev.berth.gateway.webhook;

import org.jspecify.annotations.NullMarked;
