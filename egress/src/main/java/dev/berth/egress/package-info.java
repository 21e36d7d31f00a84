/** The way out of a sandbox: takes the connections that programs inside make, and carries those that may pass. */
@NullMarked
package dev.berth.egress;

import org.jspecify.annotations.NullMarked;
