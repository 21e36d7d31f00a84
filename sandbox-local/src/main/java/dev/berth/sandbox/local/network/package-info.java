/**
 * The network of mode {@code open}: a pair of interfaces for each sandbox, and the rules of what may pass between them
 * and the machine.
 */
@NullMarked
package dev.berth.sandbox.local.network;

import org.jspecify.annotations.NullMarked;
