/** What may pass on the way out of a sandbox, decided without regard to how it travels. */
@NullMarked
package dev.berth.egress.policy;

import org.jspecify.annotations.NullMarked;
