/**
 * The vocabulary of Berth: what a sandbox is, what can be asked of it, and what it promises.
 *
 * <p>Every provider implements these types and passes the {@code SandboxContract} tests; everything above speaks only
 * of them. This package depends on nothing but the JDK.
 */
@NullMarked
package dev.berth.sandbox;

import org.jspecify.annotations.NullMarked;
