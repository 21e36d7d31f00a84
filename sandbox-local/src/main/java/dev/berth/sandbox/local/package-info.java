/** Sandboxes on this machine. */
@NullMarked
package dev.berth.sandbox.local;

import org.jspecify.annotations.NullMarked;
