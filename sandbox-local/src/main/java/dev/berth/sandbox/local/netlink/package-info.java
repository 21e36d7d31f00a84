/**
 * Talks to the kernel about networks as ip(8) and nft(8) do, netlink(7), without a process for every word of it. What the
 * messages mean is told by those who send them.
 */
@NullMarked
package dev.berth.sandbox.local.netlink;

import org.jspecify.annotations.NullMarked;
