/** Files of a sandbox from the host side: every path is resolved by the kernel inside the sandbox's root. */
@NullMarked
package dev.berth.sandbox.local.files;

import org.jspecify.annotations.NullMarked;
