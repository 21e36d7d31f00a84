/** JSON over the pipes of a process in a sandbox, a record a line. */
@NullMarked
package dev.berth.agent.line;

import org.jspecify.annotations.NullMarked;
