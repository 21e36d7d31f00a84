/**
 * What a hostile sandbox tries, and does not get. The attacks run inside real sandboxes; the small programs they need are
 * in the resources, compiled here and put in through {@code SandboxFiles}.
 */
@NullMarked
package dev.berth.sandbox.local.attack;

import org.jspecify.annotations.NullMarked;
