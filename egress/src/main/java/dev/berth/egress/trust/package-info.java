/** Who Berth says it is to a program whose TLS it opens. */
@NullMarked
package dev.berth.egress.trust;

import org.jspecify.annotations.NullMarked;
