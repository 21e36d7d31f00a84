/** The server's end of the guest protocol (guest/PROTOCOL.md): one link per sandbox, commands and connections over it. */
@NullMarked
package dev.berth.sandbox.local.guest;

import org.jspecify.annotations.NullMarked;
