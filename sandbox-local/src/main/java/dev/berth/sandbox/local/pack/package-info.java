/** The files of a sandbox as one stream: tar(1) writes it, and what reads it is built to be given hostile names. */
@NullMarked
package dev.berth.sandbox.local.pack;

import org.jspecify.annotations.NullMarked;
