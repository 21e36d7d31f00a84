/** A small internet of real servers in a network namespace, for tests. */
@NullMarked
package dev.berth.egress.internet;

import org.jspecify.annotations.NullMarked;
