/** The few system calls of Linux that Java does not offer, by the foreign-function API. */
@NullMarked
package dev.berth.sandbox.local.linux;

import org.jspecify.annotations.NullMarked;
