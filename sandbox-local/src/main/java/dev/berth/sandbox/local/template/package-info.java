/** Templates: named, versioned root filesystems, and how they are built. */
@NullMarked
package dev.berth.sandbox.local.template;

import org.jspecify.annotations.NullMarked;
