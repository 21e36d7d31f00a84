/** Where the writable files of sandboxes and checkpoints are kept, and how they are copied, limited and compared. */
@NullMarked
package dev.berth.sandbox.local.store;

import org.jspecify.annotations.NullMarked;
