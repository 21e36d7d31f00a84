/** The cgroups of sandboxes, on version 1, version 2 and the hybrid of both. */
@NullMarked
package dev.berth.sandbox.local.cgroup;

import org.jspecify.annotations.NullMarked;
