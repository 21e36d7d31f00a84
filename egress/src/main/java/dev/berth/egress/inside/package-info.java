/** What a sandbox is given so that the programs in it find the proxy, and trust what it opens. */
@NullMarked
package dev.berth.egress.inside;

import org.jspecify.annotations.NullMarked;
