/** Asking people before calls are made. */
@NullMarked
package dev.berth.gateway.approval;

import org.jspecify.annotations.NullMarked;
